import { keptFailures } from '../../limits.js';
import type { FailureRecord } from '../../statistics/stats.js';
import { serviceTypes } from '../counting/service-types.js';
import { eventIdOf } from '../names.js';
import { decodeError } from '../outcomes/outcome-codec.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readNumber, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';

export const failuresScript: Script = new Script({
  name: 'failures',
  access: 'reads',
  purpose: 'Reads the latest failures of a type.',
  argv: 'type',
  reply: 'for each service type its failures as JSON, newest first',
  includes: [prelude, serviceTypes],
  lua: `
local reply = {}
for index, serviceType in ipairs(serviceTypesOf(take())) do
  reply[index] = call('LRANGE', key('failures', serviceType), 0, -1)
end
return reply
`,
});

/** Returns the reply of {@link failuresScript}: the newest failures of all services, newest first. */
export function readFailures(reply: unknown): FailureRecord[] {
  return readArray(reply)
    .flatMap((list) => readArray(list).map(readFailure))
    .sort((a, b) => b.at - a.at)
    .slice(0, keptFailures);
}

/** Returns a failure as a script stored it. */
export function readFailure(entry: unknown): FailureRecord {
  const { id, at, attempt, requestId, step, error } = Object(JSON.parse(readString(entry))) as Record<string, unknown>;
  const { name, message } = decodeError(readString(error));
  return {
    id: eventIdOf(readString(id)),
    at: readNumber(at),
    attempt: readNumber(attempt),
    ...(requestId !== undefined && { requestId: readString(JSON.parse(readString(requestId))) }),
    ...(step !== undefined && { step: readString(step) }),
    name,
    message,
  };
}
