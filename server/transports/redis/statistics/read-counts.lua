--- @include "../connection/prelude.lua"
--- @include "../jobs/active-jobs.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/type-states.lua"
--- @include "./count-records.lua"

-- `delayedJobs(serviceType)` returns the number of jobs that wait for their delay or the delay of a retry.

local function delayedJobs(serviceType)
  -- Without a worker those whose delay has ended stay in the set.
  return call('ZCOUNT', key('delayed', serviceType), '(' .. now, '+inf')
end

-- `oldestPending(serviceType, oldestActive)` returns the time of acceptance of the oldest event that is active, waits,
-- or is the first one of the delayed ones and of those
-- that wait for a version. `oldestActive` is the one of `activeJobs`.

local function oldestPending(serviceType, oldestActive)
  local oldest = oldestActive
  local function look(id)
    local queue = id and jobQueue(serviceType, id)
    local at = queue and tonumber(call('HGET', queue .. id, 'timestamp'))
    if at and (not oldest or at < oldest) then oldest = at end
  end
  local gate = key('gate', serviceType)
  local id, order = unpack(call('ZRANGE', gate, 0, 0, 'WITHSCORES'))
  while id do
    look(id)
    -- Within a priority the first one is the oldest.
    local nextPriority = (math.floor(order / constants.orderSpan) + 1) * constants.orderSpan
    id, order = unpack(call('ZRANGEBYSCORE', gate, string.format('%.0f', nextPriority), '+inf', 'WITHSCORES', 'LIMIT', 0, 1))
  end
  for _, kind in ipairs({ 'delayed', 'newer' }) do look(call('ZRANGE', key(kind, serviceType), 0, 0)[1]) end
  return oldest
end

-- `readCounts(sums)` takes a list of types and returns three lists: the service types of each type, separated by commas,
-- the record of each of these service types in the same order, and numbers that only some service types have, as the
-- number of the service type, active, dead letters, delayed, suspended, approvals, runs that wait for a version, time of the oldest
-- pending event. Its
-- other results are the service types with failures by type, and the types. `sums` are those of `unfoldedSums`.
--
-- Most types have neither failures nor events that are pending. None of their other keys is looked at: a look at a key
-- costs a thousand types a millisecond each. Their texts are returned as they are read: Lua takes longer to join them than
-- Redis and its client take for lists.

local noCounts = '0 0 0 0 0 0 0 0 0 0'
local function readDetails(serviceType, text, active, oldest)
  local received, completed, failed, cancelled, hasApprovals = string.match(text, '^(%d+) (%d+) (%d+) (%d+) %d+ %d+ %d+ %d+ %d+ (%d)')
  -- Something else may have changed it.
  if not received then return noCounts, active, 0, 0, 0, 0, 0, 0, false end
  local isPending, hasFailed = received - completed - failed > 0, failed - cancelled > 0
  local deadLetterCount = hasFailed and countDeadLetters(serviceType) or 0
  if not isPending then return text, active, deadLetterCount, 0, 0, 0, 0, 0, hasFailed end
  return text, active, deadLetterCount, delayedJobs(serviceType), call('HLEN', key('suspended', serviceType)),
    hasApprovals == '1' and call('ZCARD', key('approvals', serviceType)) or 0,
    call('ZCARD', key('newer', serviceType)), oldestPending(serviceType, oldest) or 0, hasFailed
end

local function readCounts(sums)
  local active, _, oldest = activeJobs()
  local types = splitList(take())
  local texts, flat, typeOfPlace = readFields(key('service-types'), types), {}, {}
  for index, type in ipairs(types) do
    for _, serviceType in ipairs(texts[index] and splitList(texts[index]) or {}) do
      flat[#flat + 1] = serviceType
      typeOfPlace[#flat] = type
    end
  end
  local records, details, failing = readShares(flat, sums), {}, {}
  for place, serviceType in ipairs(flat) do
    local text, ofShare = records[place] or noCounts, active[serviceType]
    -- As many completed as received, and none failed: there are no details.
    if ofShare or not string.find(text, '^(%d+) %1 0 ') then
      local record, leased, deadLetterCount, delayed, suspended, approvals, newer, at, hasFailed =
        readDetails(serviceType, text, ofShare or 0, oldest[serviceType])
      records[place] = record
      details[#details + 1] = string.format('%d %d %d %d %d %d %d %.0f', place, leased, deadLetterCount, delayed, suspended, approvals, newer, at)
      if hasFailed then
        local type = typeOfPlace[place]
        failing[type] = failing[type] or {}
        table.insert(failing[type], serviceType)
      end
    end
  end
  return { texts, records, details }, failing, types
end
