--- @include "../connection/prelude.lua"
--- @include "../jobs/attempts.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/type-states.lua"
--- @include "../runs/read-run.lua"
--- @include "../runs/run-retention.lua"
--- @include "../runs/suspended-runs.lua"

-- `readEvent(serviceType, id, parts)` returns an event of a service type that is pending or retained, or `nil`. With
-- `'all'` it contains the payload; with `'shown'` it does not. The event is one of
--
-- - `run`, run, 1 if it is a dead letter
-- - `pending`, service type, id, status, time of acceptance, due time, attempts that ended, start of the running one,
--   earlier attempts, request id, cause id, data or empty
-- - `ended`, service type, id, record, 1 if it is a dead letter, data or empty

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

-- Events of a request as service types, job ids and the member of the index, if any.
local function eventsOf(requestId, ownId, limit)
  local events = indexedEvents(requestId, limit)
  for _, serviceType in ipairs(placesOf(ownId)) do events[#events + 1] = { serviceType, ownId } end
  return events
end

local function requestIdOf(serviceType, id)
  local queue = jobQueue(serviceType, id)
  local data = call('HGET', key('run', serviceType, id), 'shown') or queue and call('HGET', queue .. id, 'data')
    or (suspendedRun(serviceType, id) or {})[3] or call('HGET', deadLetterKey(serviceType, id), 'data')
  if data then return requestIdIn(data) end
  return string.match(call('HGET', key('records', serviceType), id) or '', '^%l+\n([^\n]*)\n')
end
