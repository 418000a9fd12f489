import type { DeadLetterRecord } from '../../transport.js';
import { decodeError } from '../outcomes/outcome-codec.js';
import { decodeAnyEnvelope } from '../publishing/envelope-codec.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readNumber, readOptional, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { deadLetters } from './dead-letter-fragments.js';

export const deadLettersScript: Script = new Script({
  purpose: 'Reads the latest dead letters of a service type, newest first.',
  argv: 'service type, maximum number',
  reply: 'for each: job id, data, time of the failure, attempt, error, step',
  includes: [prelude, deadLetters],
  lua: `
local serviceType, limit = take(), takeNumber()
local reply = {}
forgetExpired(serviceType)
for index, id in ipairs(call('ZREVRANGE', key('dead-letters', serviceType), 0, limit - 1)) do
  reply[index] = { id, unpack(call('HMGET', deadLetterKey(serviceType, id), 'data', 'at', 'attempt', 'error', 'step')) }
end
return reply
`,
});

/** Returns the reply of {@link deadLettersScript}. */
export function readDeadLetters(type: string, reply: unknown): DeadLetterRecord[] {
  return readArray(reply).map((deadLetter) => {
    const [jobId, data, at, attempt, error, step] = readArray(deadLetter);
    return {
      envelope: decodeAnyEnvelope(readString(jobId), type, readString(data)).envelope,
      at: readNumber(at),
      attempt: readNumber(attempt),
      error: decodeError(readString(error)),
      step: readOptional(step, readString),
    };
  });
}
