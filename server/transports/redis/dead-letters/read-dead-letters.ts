import type { DeadLetterFilter } from '../../event-record.js';
import type { DeadLetterRecord } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { eventLog } from '../lookup/event-log.js';
import { requestArguments } from '../lookup/read-events.js';
import { typeOf } from '../names.js';
import { decodeError } from '../outcomes/outcome-codec.js';
import { decodeAnyEnvelope } from '../publishing/envelope-codec.js';
import { maxBatchLength } from '../scripts/limits.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readNumber, readOptional, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { deadLetters } from './dead-letter-fragments.js';

export const deadLettersScript: Script = new Script({
  name: 'deadLetters',
  access: 'works',
  purpose: `Reads the latest dead letters of a service type, newest first. Stops after ${maxBatchLength} characters.`,
  argv: 'service type, maximum number, earliest time of the failure, id of the request as JSON and as a job id, or both empty, position of the last one that the caller has or empty',
  reply:
    'a list with, for each: job id, data, time of the failure, attempt, error, step; then the position of the last one if it stopped early',
  includes: [prelude, deadLetters, eventLog],
  lua: `
local serviceType, limit, since, requestId = take(), takeNumber(), takeNumber(), take()
local ownId, last = take(), take()
if last == '' then forgetExpired(serviceType) end
local ids
if requestId == '' then
  local newest = last == '' and '+inf' or '(' .. last
  ids = call('ZREVRANGEBYSCORE', key('dead-letters', serviceType), newest, '-inf', 'LIMIT', 0, limit)
else
  ids = {}
  local orders = {}
  local function add(id)
    if orders[id] then return end
    orders[id] = tonumber(call('ZSCORE', key('dead-letters', serviceType), id) or '')
    if last ~= '' and orders[id] and orders[id] >= tonumber(last) then return end
    if orders[id] and requestIdIn(call('HGET', deadLetterKey(serviceType, id), 'data')) == requestId then ids[#ids + 1] = id end
  end
  add(ownId)
  for _, event in ipairs(indexedEvents(requestId, -1)) do if event[1] == serviceType then add(event[2]) end end
  table.sort(ids, function(a, b) return orders[a] > orders[b] end)
end
local found, length, stoppedAt = {}, 0, false
for _, id in ipairs(ids) do
  if #found == limit then break end
  if length > ${maxBatchLength} then
    stoppedAt = call('ZSCORE', key('dead-letters', serviceType), found[#found][1])
    break
  end
  local deadLetter = deadLetterKey(serviceType, id)
  local owner, at = unpack(call('HMGET', deadLetter, 'serviceType', 'at'))
  if owner == serviceType and tonumber(at) >= since then
    found[#found + 1] = { id, unpack(call('HMGET', deadLetter, 'data', 'at', 'attempt', 'error', 'step')) }
    length = length + #found[#found][2]
  end
end
writeLog()
return { found, stoppedAt }
`,
});

/** Returns the latest dead letters of a service type, newest first. */
export async function readDeadLetters(
  commands: CommandClient,
  serviceType: string,
  limit: number,
  { requestId, since = 0 }: DeadLetterFilter,
): Promise<DeadLetterRecord[]> {
  const request = requestId === undefined ? ['', ''] : requestArguments(requestId);
  const found: DeadLetterRecord[] = [];
  let last: string | undefined = '';
  while (last !== undefined && found.length < limit) {
    const args = [serviceType, limit - found.length, since, ...request, last];
    const [deadLetters, stoppedAt] = readArray(await commands.runScript(deadLettersScript, args));
    found.push(...readArray(deadLetters).map((deadLetter) => readDeadLetter(typeOf(serviceType), deadLetter)));
    last = readOptional(stoppedAt, readString);
  }
  return found;
}

function readDeadLetter(type: string, deadLetter: unknown): DeadLetterRecord {
  const [jobId, data, at, attempt, error, step] = readArray(deadLetter);
  return {
    envelope: decodeAnyEnvelope(readString(jobId), type, readString(data)).envelope,
    at: readNumber(at),
    attempt: readNumber(attempt),
    error: decodeError(readString(error)),
    step: readOptional(step, readString),
  };
}
