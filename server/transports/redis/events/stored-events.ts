import {
  type ErasedPayloads,
  type EventRecord,
  type EventStatus,
  eventOfRun,
  keepAttempt,
  toRecentEvents,
  toRequestRecords,
} from '../../event-record.js';
import { keptRecent, maxRequestEvents } from '../../limits.js';
import type { EventLookup } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { prelude } from '../connection/keys.js';
import { readArray, readNumber, readOptional, readString, unexpected } from '../connection/reply.js';
import { LuaFragment, Script } from '../connection/script.js';
import { attempts, readAttempts } from '../jobs/attempts.js';
import { deadLetters } from '../jobs/dead-letter-fragments.js';
import { decodeAnyEnvelope, decodeError } from '../jobs/event-codec.js';
import { eventLog } from '../jobs/event-log.js';
import { keyLines } from '../jobs/gates.js';
import { encodeName, eventIdOf, jobIdOf, serviceOf, typeOf } from '../names.js';
import { runRetention } from '../runs/run-records.js';
import { oneRun, readRun } from '../runs/stored-runs.js';
import { suspendedRuns } from '../runs/suspended-runs.js';
import { serviceTypes } from '../statistics/count-records.js';
import { counters } from '../statistics/counters.js';

/**
 * `readEvent(serviceType, id, parts)` returns an event of a service type that is pending or retained, or `nil`. With
 * `'all'` it contains the payload; with `'shown'` it does not. The event is one of
 *
 * - `run`, run, 1 if it is a dead letter
 * - `pending`, service type, id, status, time of acceptance, due time, attempts that ended, start of the running one,
 *   earlier attempts, request id, cause id, data or empty
 * - `ended`, service type, id, record, 1 if it is a dead letter, data or empty
 */
const storedEvents = new LuaFragment(
  `
local function readPending(serviceType, id, parts)
  local queue = jobQueue(serviceType, id)
  local job = queue and queue .. id
  if not job or call('HGET', job, 'serviceType') ~= serviceType then return nil end
  local acceptedAt, ended, startedAt, data = unpack(call('HMGET', job, 'timestamp', 'atm', 'processedOn', 'data'))
  local dueAt = tonumber(call('ZSCORE', key('delayed', serviceType), id) or '')
  local isActive = call('EXISTS', job .. ':lock') == 1
  local status = isActive and 'active' or dueAt and dueAt > now and 'delayed' or 'waiting'
  return { 'pending', serviceType, id, status, acceptedAt, status == 'delayed' and dueAt, ended or 0,
    isActive and startedAt, attemptsOf(job), requestIdIn(data), causeIdIn(data), parts == 'all' and data or '' }
end

local function readEnded(serviceType, id, parts)
  local record = call('HGET', key('records', serviceType), id)
  local deadLetter = deadLetterKey(serviceType, id)
  local dead = call('HMGET', deadLetter, 'serviceType', 'data', 'timestamp', 'startedAt', 'at', 'attempt', 'error', 'step',
    'attempts')
  local isDead = dead[1] == serviceType
  if not isDead then return record and { 'ended', serviceType, id, record, 0, '' } or nil end
  record = record or endedRecord('failed', requestIdIn(dead[2]), causeIdIn(dead[2]), dead[3], dead[4] or '', dead[5], dead[6],
    dead[7], dead[8] or '', dead[9] or '')
  return { 'ended', serviceType, id, record, 1, parts == 'all' and dead[2] or '' }
end

local function readEvent(serviceType, id, parts)
  local run = not isExpired(serviceType, id) and readRun(serviceType, id, parts)
  if run then return { 'run', run, hasDeadLetter(serviceType, id) and 1 or 0 } end
  return readPending(serviceType, id, parts) or readEnded(serviceType, id, parts)
end

local function serviceTypesWith(id)
  local found = {}
  for _, service in ipairs(call('SMEMBERS', key('services'))) do
    local dead = call('HGET', key('dead-letter', service, id), 'serviceType')
    local shared = call('HGET', queueKey(service) .. id, 'serviceType')
    for _, serviceType in ipairs(call('SMEMBERS', key('subscribed', service))) do
      if serviceType == dead or serviceType == shared
        or call('HEXISTS', key('records', serviceType), id) == 1
        or call('EXISTS', queueKey(serviceType) .. id) == 1 or hasRun(serviceType, id) then
        found[#found + 1] = serviceType
      end
    end
  end
  return found
end

-- Events of a request as service types, job ids and the member of the index, if any.
local function eventsOf(requestId, ownId, limit)
  local events = indexedEvents(requestId, limit)
  for _, serviceType in ipairs(serviceTypesWith(ownId)) do events[#events + 1] = { serviceType, ownId } end
  return events
end

local function requestIdOf(serviceType, id)
  local queue = jobQueue(serviceType, id)
  local data = call('HGET', key('run', serviceType, id), 'shown') or queue and call('HGET', queue .. id, 'data')
    or (suspendedRun(serviceType, id) or {})[3] or call('HGET', deadLetterKey(serviceType, id), 'data')
  if data then return requestIdIn(data) end
  return string.match(call('HGET', key('records', serviceType), id) or '', '^%l+\\n([^\\n]*)\\n')
end
`,
  [attempts, prelude, deadLetters, eventLog, keyLines, oneRun, runRetention, suspendedRuns],
);

const findScript: Script = new Script({
  name: 'find',
  access: 'reads',
  purpose: 'Finds the events with an id in all services.',
  argv: 'job id, "shown" or "all"',
  reply: 'for each type and service that has one the result of readEvent',
  includes: [prelude, storedEvents],
  lua: `
local id, parts = take(), take()
local reply = {}
for _, serviceType in ipairs(serviceTypesWith(id)) do reply[#reply + 1] = readEvent(serviceType, id, parts) end
return reply
`,
});

const requestScript: Script = new Script({
  name: 'request',
  access: 'works',
  purpose: 'Reads the events of a request, and drops those from the index that are no longer retained.',
  argv: 'id of the request as JSON and as a job id',
  reply: 'for each event the result of readEvent',
  includes: [prelude, eventLog, storedEvents],
  lua: `
local requestId, ownId = take(), take()
local reply, isRead = {}, {}
for _, event in ipairs(eventsOf(requestId, ownId, ${maxRequestEvents + 1})) do
  local serviceType, id, member = event[1], event[2], event[3]
  local name = serviceType .. ' ' .. id
  if not isRead[name] and requestIdOf(serviceType, id) == requestId then
    isRead[name] = true
    reply[#reply + 1] = readEvent(serviceType, id, 'shown')
  elseif member and not isRead[name] then
    call('ZREM', key('requests'), member)
  end
end
return reply
`,
});

const recentScript: Script = new Script({
  name: 'recent',
  access: 'reads',
  purpose: 'Reads the newest events of a type that are pending or retained.',
  argv: 'type',
  reply: 'for each event the result of readEvent',
  includes: [prelude, storedEvents, keyLines, serviceTypes],
  lua: `
local reply, isKnown = {}, {}
local function add(serviceType, ids)
  for _, id in ipairs(ids) do
    local event = not isKnown[serviceType .. id] and readEvent(serviceType, id, 'shown')
    isKnown[serviceType .. id] = true
    if event then reply[#reply + 1] = event end
  end
end

local function runningOf(queue, serviceType)
  local ids = {}
  for _, list in ipairs({ 'active', 'wait' }) do
    for _, id in ipairs(call('LRANGE', queue .. list, 0, -1)) do
      if #ids < ${keptRecent} and call('HGET', queue .. id, 'serviceType') == serviceType then ids[#ids + 1] = id end
    end
  end
  return ids
end

for _, serviceType in ipairs(serviceTypesOf(take())) do
  add(serviceType, call('ZREVRANGE', key('runs', serviceType), 0, ${keptRecent - 1}))
  add(serviceType, call('LRANGE', key('ended', serviceType, 'failed'), 0, ${keptRecent - 1}))
  for _, name in ipairs({ serviceType, serviceOf(serviceType) }) do add(serviceType, runningOf(queueKey(name), serviceType)) end
  add(serviceType, call('ZREVRANGE', key('gate', serviceType), 0, ${keptRecent - 1}))
  add(serviceType, call('ZRANGE', key('delayed', serviceType), 0, ${keptRecent - 1}))
  add(serviceType, firstInLines(serviceType, ${keptRecent}))
  for _, status in ipairs({ 'completed', 'failed' }) do
    local ids = call('LRANGE', key('recent', serviceType, status), 0, ${keptRecent - 1})
    for index, element in ipairs(ids) do ids[index] = string.match(element, '^%S+') end
    add(serviceType, ids)
  end
end
return reply
`,
});

const eraseScript: Script = new Script({
  name: 'erase',
  access: 'works',
  purpose: 'Removes the payloads of a request from dead letters and ended runs.',
  argv: 'id of the request as JSON and as a job id',
  reply: 'numbers of dead letters, of runs, and of events that are pending',
  includes: [prelude, counters, deadLetters, eventLog, runRetention, storedEvents],
  lua: `
local deadLetterCount, runCount, pendingCount = 0, 0, 0
local requestId, ownId = take(), take()
local function erase(serviceType, id)
  local run = key('run', serviceType, id)
  local shown, status = unpack(call('HMGET', run, 'shown', 'status'))
  if status then
    runCount = runCount + 1
    call('HSET', run, 'data', shown)
    call('HDEL', run, 'openWaits')
    if status == 'completed' then call('HSET', run, 'value', '') end
    call('DEL', run .. ':order', run .. ':checkpoints', run .. ':outputs')
  elseif jobQueue(serviceType, id) or hasRun(serviceType, id) then
    pendingCount = pendingCount + 1
  end
  if hasDeadLetter(serviceType, id) then
    deadLetterCount = deadLetterCount + 1
    deleteDeadLetter(serviceType, id)
  end
  changesOf(serviceType)
end

local isErased = {}
for _, event in ipairs(eventsOf(requestId, ownId, -1)) do
  local name = event[1] .. ' ' .. event[2]
  if not isErased[name] and requestIdOf(event[1], event[2]) == requestId then
    isErased[name] = true
    erase(event[1], event[2])
  end
end
writeChanges()
return { deadLetterCount, runCount, pendingCount }
`,
});

/** Returns the id of a request as arguments of a script: as JSON, and as the job id of the event with this id. */
export function requestArguments(requestId: string): string[] {
  return [JSON.stringify(requestId), jobIdOf(requestId)];
}

/** Returns the events that `readEvent` returned in a script. */
function readEvents(reply: unknown): EventRecord[] {
  return readArray(reply).map(readEvent);
}

function readEvent(reply: unknown): EventRecord {
  const [kind, ...rest] = readArray(reply);
  if (kind === 'run') return readRunEvent(rest);
  if (kind === 'pending') return readPendingEvent(rest);
  if (kind === 'ended') return readEndedEvent(rest);
  throw unexpected('a kind of event', kind);
}

function readRunEvent([reply, isDeadLetter]: readonly unknown[]): EventRecord {
  const run = readRun(reply);
  const [serviceType] = readArray(reply);
  const record = eventOfRun(typeOf(readString(serviceType)), run, isDeadLetter === 1);
  return { ...record, body: run.envelope.body };
}

function readPendingEvent(reply: readonly unknown[]): EventRecord {
  const [serviceType, jobId, status, acceptedAt, dueAt, ended, startedAt, attempts, requestId, causeId, data] = reply;
  const attempt = readNumber(ended) + 1;
  const start = readOptional(startedAt, readNumber);
  const earlier = readAttempts(readString(attempts));
  return {
    ...readIdentity(serviceType, jobId, requestId, causeId),
    status: readStatus(status),
    acceptedAt: readNumber(acceptedAt),
    dueAt: readOptional(dueAt, readNumber),
    endedAt: undefined,
    attempt,
    attempts: start === undefined ? earlier : keepAttempt(earlier, { attempt, startedAt: start }),
    error: undefined,
    step: undefined,
    isDeadLetter: false,
    body: readBody(jobId, serviceType, data),
    run: undefined,
  };
}

function readEndedEvent([serviceType, jobId, record, isDeadLetter, data]: readonly unknown[]): EventRecord {
  const [statusText, requestId, causeId, accepted, started = '', ended, attemptText, errorJson = '', step, ...tries] =
    readString(record).split('\n');
  const status = readStatus(statusText);
  const [endedAt, attempt] = [readNumber(ended), readNumber(attemptText)];
  const error = errorJson === '' ? undefined : decodeError(errorJson);
  const earlier = readAttempts(tries.join('\n'));
  const last = { attempt, startedAt: readNumber(started), endedAt, ...(error !== undefined && { error }) };
  return {
    ...readIdentity(serviceType, jobId, requestId, causeId),
    status,
    acceptedAt: accepted === '' ? endedAt : readNumber(accepted),
    dueAt: undefined,
    endedAt,
    attempt,
    attempts: started === '' ? earlier : keepAttempt(earlier, last),
    error,
    step: step === '' ? undefined : step,
    isDeadLetter: isDeadLetter === 1,
    body: readBody(jobId, serviceType, data),
    run: undefined,
  };
}

function readIdentity(
  serviceType: unknown,
  jobId: unknown,
  requestId: unknown,
  causeId: unknown,
): Pick<EventRecord, 'id' | 'type' | 'service' | 'requestId' | 'causeId'> {
  const name = readString(serviceType);
  const cause = readString(causeId);
  return {
    id: eventIdOf(readString(jobId)),
    type: typeOf(name),
    service: serviceOf(name),
    // A job whose data was changed in Redis carries no request.
    requestId:
      readOptional(requestId, (json) => readString(JSON.parse(readString(json)))) ?? eventIdOf(readString(jobId)),
    causeId: cause === '' ? undefined : readString(JSON.parse(cause)),
  };
}

function readBody(jobId: unknown, serviceType: unknown, data: unknown): string | undefined {
  const text = readString(data);
  if (text === '') return undefined;
  return decodeAnyEnvelope(readString(jobId), typeOf(readString(serviceType)), text).envelope.body;
}

function readStatus(status: unknown): EventStatus {
  if (status === 'active' || status === 'delayed' || status === 'waiting') return status;
  if (status === 'completed' || status === 'failed' || status === 'cancelled') return status;
  throw unexpected('the status of an event', status);
}

/** Returns the reply of `eraseScript`. */
function readErased(reply: unknown): ErasedPayloads {
  const [deadLetters, runs, pending] = readArray(reply).map(readNumber);
  return { deadLetters: deadLetters ?? 0, runs: runs ?? 0, pending: pending ?? 0 };
}

/** Returns the lookups of the events of all services on Redis. */
export function redisEvents(commands: CommandClient): Omit<EventLookup, 'overview'> {
  return {
    recent: async (type) => toRecentEvents(readEvents(await commands.runScript(recentScript, [encodeName(type)]))),
    async find(id, { bodies = false } = {}) {
      return readEvents(await commands.runScript(findScript, [jobIdOf(id), bodies ? 'all' : 'shown']));
    },
    async request(requestId) {
      return toRequestRecords(readEvents(await commands.runScript(requestScript, requestArguments(requestId))));
    },
    erase: async (requestId) => readErased(await commands.runScript(eraseScript, requestArguments(requestId))),
  };
}
