import type { DeadLetterRecord } from '../../transport.js';
import { decodeEnvelope } from '../publishing/envelope-codec.js';
import { decodeError } from '../outcomes/outcome-codec.js';
import { readArray, readNumber, readString } from '../scripts/reply.js';

/** Reads what `deadLettersScript` answered. */
export function readDeadLetters(type: string, answer: unknown): DeadLetterRecord[] {
  return readArray(answer).map((letter) => {
    const [jobId, data, at, attempt, error] = readArray(letter);
    return {
      envelope: decodeEnvelope(readString(jobId), type, JSON.parse(readString(data))),
      at: readNumber(at),
      attempt: readNumber(attempt),
      error: decodeError(readString(error)),
    };
  });
}
