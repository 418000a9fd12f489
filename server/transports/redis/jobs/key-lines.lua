--- @include "../connection/prelude.lua"
--- @include "./type-states.lua"

-- Lines of the types with a `key`: the waiting events of one key each, by priority, then acceptance. `lines` holds the
-- keys with an event that may start, in the order of their turns, `blocked` those that wait for a slot or their rate,
-- by the time at which they may start. Events without a key have a line too, without limits.
--
-- An event takes a slot of its key with its first start and holds it until it ends. The job notes it in `held`.
--
-- - `enterLine(serviceType, id, order, lineKey, isHeld)` and `leaveLine(serviceType, id)` add and remove an event
-- - `popLine(serviceType)` takes the next event; afterwards `countKeyStart(...)` and `arrangeLine(...)`
-- - `mayRunOn(serviceType, job)`: if a job that holds a slot may run beside the others of its key
-- - `pauseKey(serviceType, job)` notes that a job no longer runs but holds its slot; `releaseKey(...)` frees the slot
-- - `uncountKeyStart(serviceType, job)` takes back the start of a job whose handler did not start
-- - `addHeld(serviceType, lineKey, by)` counts taken slots
-- - `openLines(serviceType)` makes the lines ready whose rate opened; returns the time at which the next one opens
-- - `sortWaiting(serviceType)` moves some events after a type gained or lost its key; returns `true` if more are left
-- - `forgetLines(serviceType)` ends the state of a type that lost its key, once nothing of it is left
-- - `firstInLines(serviceType, count)` returns some of the ids, in no order

local never = constants.maxSafeInteger

local function lineOf(serviceType, id)
  local queue = jobQueue(serviceType, id)
  if not queue then return '', false end
  local lineKey, held = unpack(call('HMGET', queue .. id, 'key', 'held'))
  return lineKey or '', held and true or false
end

local hasFreeSlot
do
  -- Number of jobs of a key that run or are about to, and of handlers that run on after their outcome.
  local function workingJobs(serviceType, lineKey)
    local count = 0
    for _, name in ipairs({ serviceType, serviceOf(serviceType) }) do
      local queue = queueKey(name)
      for _, list in ipairs({ 'wait', 'active' }) do
        for _, id in ipairs(call('LRANGE', queue .. list, 0, -1)) do
          local owner, held = unpack(call('HMGET', queue .. id, 'serviceType', 'held'))
          if owner == serviceType and held == lineKey then count = count + 1 end
        end
      end
    end
    for _, overdue in ipairs(call('HVALS', key('overdue', serviceType))) do
      if overdue == lineKey then count = count + 1 end
    end
    return count
  end

  -- An event that holds a slot needs no other one. But more events may hold one than the limit allows: it may have been
  -- lowered, and a handler that runs on has a slot of its own.
  function hasFreeSlot(serviceType, lineKey, holdsSlot, concurrency)
    local held = tonumber(call('HGET', key('held', serviceType), lineKey) or 0)
    if not holdsSlot then return held < concurrency end
    return held <= concurrency or workingJobs(serviceType, lineKey) < concurrency
  end
end

local function mayRunOn(serviceType, job)
  local limits = stateOf(serviceType).keys
  local lineKey = limits and limits.concurrency and call('HGET', job, 'held')
  return not lineKey or hasFreeSlot(serviceType, lineKey, true, limits.concurrency)
end

-- Returns nothing if the line is empty.
local function lineOpensAt(serviceType, lineKey)
  local order = call('ZRANGE', key('line', serviceType, lineKey), 0, 0, 'WITHSCORES')[2]
  local limits = stateOf(serviceType).keys
  if not order or not limits or lineKey == '' then return order and 0 end
  if limits.concurrency and not hasFreeSlot(serviceType, lineKey, tonumber(order) < 0, limits.concurrency) then
    return never
  end
  local oldest = limits.max and call('LINDEX', key('key-starts', serviceType, lineKey), limits.max - 1)
  return oldest and oldest + limits.perMs or 0
end

local function arrangeLine(serviceType, lineKey)
  local lines, blocked = key('lines', serviceType), key('blocked', serviceType)
  local opensAt = lineOpensAt(serviceType, lineKey)
  if opensAt and opensAt <= now then
    call('ZREM', blocked, lineKey)
    if call('ZSCORE', lines, lineKey) then return end
    call('ZADD', lines, call('HINCRBY', key('dispatch', serviceType), 'lineTurn', 1), lineKey)
  else
    call('ZREM', lines, lineKey)
    if opensAt then call('ZADD', blocked, opensAt, lineKey) else call('ZREM', blocked, lineKey) end
  end
end

local function enterLine(serviceType, id, order, lineKey, isHeld)
  local place = isHeld and order - constants.heldSpan or order
  call('ZADD', key('line', serviceType, lineKey), string.format('%.0f', place), id)
  arrangeLine(serviceType, lineKey)
end

local function leaveLine(serviceType, id)
  local lineKey = lineOf(serviceType, id)
  if call('ZREM', key('line', serviceType, lineKey), id) == 0 then return false end
  arrangeLine(serviceType, lineKey)
  return true
end

local function popLine(serviceType)
  local lines = key('lines', serviceType)
  while true do
    local lineKey = call('ZRANGE', lines, 0, 0)[1]
    if not lineKey then return nil end
    call('ZREM', lines, lineKey)
    local id = call('ZPOPMIN', key('line', serviceType, lineKey))[1]
    if id then return id, lineKey end
  end
end

local function holdKey(serviceType, job, lineKey)
  if call('HSETNX', job, 'held', lineKey) == 1 then call('HINCRBY', key('held', serviceType), lineKey, 1) end
end

local function countKeyStart(serviceType, job, lineKey)
  local limits = stateOf(serviceType).keys
  if not limits or lineKey == '' then return end
  holdKey(serviceType, job, lineKey)
  if not limits.max then return end
  local starts = key('key-starts', serviceType, lineKey)
  call('LPUSH', starts, now)
  call('LTRIM', starts, 0, limits.max - 1)
  call('PEXPIRE', starts, limits.perMs)
end

local function uncountKeyStart(serviceType, job)
  local limits = stateOf(serviceType).keys
  local lineKey = limits and limits.max and call('HGET', job, 'held')
  if lineKey then call('LPOP', key('key-starts', serviceType, lineKey)) end
end

-- A handler that runs on takes a slot beside the one that its event may hold.
local function addHeld(serviceType, lineKey, by)
  local held = key('held', serviceType)
  if call('HINCRBY', held, lineKey, by) <= 0 then call('HDEL', held, lineKey) end
  arrangeLine(serviceType, lineKey)
end

local function pauseKey(serviceType, job)
  local lineKey = call('HGET', job, 'held')
  if lineKey then arrangeLine(serviceType, lineKey) end
end

local function releaseKey(serviceType, job)
  local lineKey = call('HGET', job, 'held')
  if not lineKey then return end
  call('HDEL', job, 'held')
  addHeld(serviceType, lineKey, -1)
end

local function openLines(serviceType)
  local blocked = key('blocked', serviceType)
  for _, lineKey in ipairs(call('ZRANGEBYSCORE', blocked, '-inf', now, 'LIMIT', 0, constants.maxDuePerFetch)) do
    arrangeLine(serviceType, lineKey)
  end
  local opensAt = tonumber(call('ZRANGE', blocked, 0, 0, 'WITHSCORES')[2])
  return opensAt and opensAt < never and opensAt or nil
end

local function firstLine(serviceType)
  return call('ZRANGE', key('lines', serviceType), 0, 0)[1] or call('ZRANGE', key('blocked', serviceType), 0, 0)[1]
end

local function firstInLines(serviceType, count)
  local lineKey = firstLine(serviceType)
  return lineKey and call('ZRANGE', key('line', serviceType, lineKey), 0, count - 1) or {}
end

local function forgetLines(serviceType)
  if firstLine(serviceType) or call('EXISTS', key('held', serviceType)) == 1 then return end
  call('HDEL', key('dispatch', serviceType), 'hadKeys')
  stateOf(serviceType).hadKeys = false
end

local function sortWaiting(serviceType)
  local gate = key('gate', serviceType)
  if stateOf(serviceType).keys then
    local ids = call('ZRANGE', gate, 0, constants.maxDuePerFetch - 1, 'WITHSCORES')
    for index = 1, #ids, 2 do
      call('ZREM', gate, ids[index])
      enterLine(serviceType, ids[index], tonumber(ids[index + 1]), lineOf(serviceType, ids[index]))
    end
    return call('EXISTS', gate) == 1
  end
  for _ = 1, constants.maxDuePerFetch do
    local lineKey = firstLine(serviceType)
    if not lineKey then return false end
    local id, order = unpack(call('ZPOPMIN', key('line', serviceType, lineKey)))
    if id then call('ZADD', gate, string.format('%.0f', order % constants.heldSpan), id) end
    arrangeLine(serviceType, lineKey)
  end
  return firstLine(serviceType) ~= nil
end
