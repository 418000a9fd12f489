import type { AttemptRecord } from '../../event-record.js';
import { decodeError } from '../outcomes/outcome-codec.js';
import { readArray, readNumber } from '../scripts/reply.js';

/** Returns the attempts that scripts retained as lines. */
export function readAttempts(lines: string): readonly AttemptRecord[] {
  return lines.split('\n').flatMap((line) => (line === '' ? [] : readAttempt(line)));
}

function readAttempt(line: string): AttemptRecord {
  const [attempt, startedAt, endedAt, error, isInterrupted] = readArray(JSON.parse(line));
  return {
    attempt: readNumber(attempt),
    startedAt: readNumber(startedAt),
    endedAt: readNumber(endedAt),
    ...(isInterrupted === 1 ? { isInterrupted: true } : { error: decodeError(JSON.stringify(error)) }),
  };
}
