import { randomUUID } from 'node:crypto';
import { workflowOf } from '../../delivery.js';
import { NotSubscribedError } from '../../errors.js';
import type { DeadLetterFilter } from '../../event-record.js';
import type { DeadLetterRecord, DeadLetterStore } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { prelude } from '../connection/keys.js';
import { readArray, readNumber, readOptional, readString } from '../connection/reply.js';
import { Script } from '../connection/script.js';
import { maxBatchLength } from '../connection/script-limits.js';
import { deadLetters } from '../jobs/dead-letter-fragments.js';
import { decodeAnyEnvelope, decodeError } from '../jobs/event-codec.js';
import { eventLog } from '../jobs/event-log.js';
import { encodeName, jobIdOf, serviceTypeOf, typeOf } from '../names.js';
import { counters } from '../statistics/counters.js';
import { acceptance } from './acceptance.js';
import { requestArguments } from './stored-events.js';

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
async function readDeadLetters(
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

const replayScript = new Script({
  name: 'replay',
  access: 'stores',
  purpose:
    'Accepts the event of a dead letter again, for the service of the dead letter alone, by the current route of its type. Repeated with the same token it returns the same and changes nothing.',
  argv: 'token, milliseconds to remember it, service, job id',
  reply: '1; 0 if there is no such dead letter; its service type if the service no longer subscribes to it',
  includes: [prelude, counters, acceptance, deadLetters, eventLog],
  lua: `
local executed, rememberMs = key('executed', take()), take()
if call('EXISTS', executed) == 1 then return 1 end
local service, id = take(), take()
local deadLetter = key('dead-letter', service, id)
local serviceType, data, priority, starts, lineKey =
  unpack(call('HMGET', deadLetter, 'serviceType', 'data', 'priority', 'ats', 'key'))
if not serviceType then return 0 end
local head, depth, replays = string.match(data, '^(.*),"depth":(%d+),"replays":(%d+)}$')
local route = call('HGET', key('routes', typeOf(serviceType)), serviceType)
if not route then return serviceType end

call('DEL', deadLetter)
forgetEnd(serviceType, id)
forgetIndexEnd(serviceType, id, requestIdIn(data))
call('ZREM', key('dead-letters', serviceType), id)
call('ZREM', key('expiring', serviceType), id)
call('DEL', key('run', serviceType, id))
call('PERSIST', key('run', serviceType, id, 'waiters'))
call('LREM', key('ended', serviceType, 'failed'), 1, id)
for _, part in ipairs({ 'order', 'checkpoints', 'outputs' }) do
  if call('EXISTS', deadLetter .. ':' .. part) == 1 then
    call('RENAME', deadLetter .. ':' .. part, key('run', serviceType, id, part))
    call('PERSIST', key('run', serviceType, id, part))
  end
end
local envelope = { head = head, key = lineKey or '', priority = priority, delayMs = 0, replays = replays + 1 }
queueJob(cjson.decode(route), envelope, id, depth)
-- The number of starts tells the leases of an event apart, those before the replay included.
if starts then call('HSET', jobQueue(serviceType, id) .. id, 'ats', starts) end
arrangeTypes()
writeChanges()
call('SET', executed, '', 'PX', rememberMs)
return 1
`,
});

/**
 * Replays a dead letter of a service; `false` if there is none with this id.
 *
 * @throws {NotSubscribedError} if the service no longer subscribes to the type; the dead letter is retained
 */
async function replay(commands: CommandClient, service: string, id: string): Promise<boolean> {
  // The token makes a repetition harmless if the reply is lost with the connection.
  const args = [randomUUID(), commands.repeatWithinMs, encodeName(service), jobIdOf(id)];
  const reply = await commands.runRemembered(replayScript, args);
  if (typeof reply === 'string') {
    const type = typeOf(reply);
    throw new NotSubscribedError(service, [workflowOf(type) ?? type], []);
  }
  return readNumber(reply) === 1;
}

/** Returns the dead letters of a service on Redis. */
export function redisDeadLetters(commands: CommandClient, service: string): DeadLetterStore {
  return {
    list: (type, limit, filter = {}) => readDeadLetters(commands, serviceTypeOf(service, type), limit, filter),
    replay: (id) => replay(commands, service, id),
  };
}
