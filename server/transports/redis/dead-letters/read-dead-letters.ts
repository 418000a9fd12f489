import type { DeadLetterRecord } from '../../transport.js';
import { eventLog } from '../lookup/event-log.js';
import { decodeError } from '../outcomes/outcome-codec.js';
import { decodeAnyEnvelope } from '../publishing/envelope-codec.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readNumber, readOptional, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { deadLetters } from './dead-letter-fragments.js';

export const deadLettersScript: Script = new Script({
  name: 'deadLetters',
  access: 'works',
  purpose: 'Reads the latest dead letters of a service type, newest first.',
  argv: 'service type, maximum number, earliest time of the failure, id of the request as JSON and as a job id, or both empty',
  reply: 'for each: job id, data, time of the failure, attempt, error, step',
  includes: [prelude, deadLetters, eventLog],
  lua: `
local serviceType, limit, since, requestId = take(), takeNumber(), takeNumber(), take()
local ownId = take()
forgetExpired(serviceType)
local ids
if requestId == '' then
  ids = call('ZREVRANGE', key('dead-letters', serviceType), 0, limit - 1)
else
  ids = {}
  local orders = {}
  local function add(id)
    if orders[id] then return end
    orders[id] = tonumber(call('ZSCORE', key('dead-letters', serviceType), id) or '')
    if orders[id] and requestIdIn(call('HGET', deadLetterKey(serviceType, id), 'data')) == requestId then ids[#ids + 1] = id end
  end
  add(ownId)
  for _, event in ipairs(indexedEvents(requestId, -1)) do if event[1] == serviceType then add(event[2]) end end
  table.sort(ids, function(a, b) return orders[a] > orders[b] end)
end
local reply = {}
for _, id in ipairs(ids) do
  if #reply == limit then break end
  local deadLetter = deadLetterKey(serviceType, id)
  local owner, at = unpack(call('HMGET', deadLetter, 'serviceType', 'at'))
  if owner == serviceType and tonumber(at) >= since then
    reply[#reply + 1] = { id, unpack(call('HMGET', deadLetter, 'data', 'at', 'attempt', 'error', 'step')) }
  end
end
writeLog()
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
