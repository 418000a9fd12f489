--- @include "../connection/prelude.lua"
--- @include "./type-states.lua"

-- Key queues of the types with a `key`: the waiting events of one key each, by priority, then acceptance. `lines` holds
-- the keys with an event that may start, in the order of their turns, `blocked` those that wait for a slot or their rate,
-- by the time at which they may start. Events without a key have a queue too, without limits.
--
-- An event takes a slot of its key with its first start and holds it until it ends. The job notes it in `held`.
--
-- - `enterKeyQueue(serviceType, id, order, keyName, isHeld)` and `leaveKeyQueue(serviceType, id)` add and remove an event
-- - `popKeyQueue(serviceType)` takes the next event; afterwards `countKeyStart(...)` and `arrangeKeyQueue(...)`
-- - `keyRateOpensAt(serviceType, keyName)` returns the time from which the rate of a key allows a start
-- - `mayRunOn(serviceType, job)`: if a job that holds a slot may run beside the others of its key
-- - `pauseKey(serviceType, job)` notes that a job no longer runs but holds its slot; `releaseKey(...)` frees the slot
-- - `uncountKeyStart(serviceType, job)` takes back the start of a job
-- - `addHeld(serviceType, keyName, by)` counts taken slots
-- - `openKeyQueues(serviceType)` makes the queues ready whose rate opened; returns the time at which the next one opens
-- - `sortWaiting(serviceType)` moves some events after a type gained or lost its key; returns `true` if more are left
-- - `forgetKeyQueues(serviceType)` ends the state of a type that lost its key, once nothing of it is left
-- - `firstInKeyQueues(serviceType, count)` returns some of the ids, in no order
--
-- Slots of handlers that run on after their outcome. They count as taken until the handler returns, or its process is
-- dead, and so does the slot of their key.
--
-- - `keepSlot(serviceType, token, id, starts, job, reason)` begins that, with a reason if another process has ended the event
-- - `dropSlot(serviceType, lease)` ends it, `dropSlots(serviceType, process)` does so for a dead process
-- - `interruption(serviceType, token, id, starts)` returns the reason with which the slot of a lease is kept, or `false`

local never = constants.maxSafeInteger

local function keyNameOf(serviceType, id)
  local queue = jobQueue(serviceType, id)
  if not queue then return '', false end
  local keyName, held = unpack(call('HMGET', queue .. id, 'key', 'held'))
  return keyName or '', held and true or false
end

local hasFreeSlot
do
  -- Number of jobs of a key that run or are about to, and of handlers that run on after their outcome.
  local function workingJobs(serviceType, keyName)
    local count = 0
    for _, name in ipairs({ serviceType, serviceOf(serviceType) }) do
      local queue = queueKey(name)
      for _, list in ipairs({ 'wait', 'active' }) do
        for _, id in ipairs(call('LRANGE', queue .. list, 0, -1)) do
          local owner, held = unpack(call('HMGET', queue .. id, 'serviceType', 'held'))
          if owner == serviceType and held == keyName then count = count + 1 end
        end
      end
    end
    for _, overdue in ipairs(call('HVALS', key('overdue', serviceType))) do
      if overdue == keyName then count = count + 1 end
    end
    return count
  end

  -- An event that holds a slot needs no other one. But more events may hold one than the limit allows: it may have been
  -- lowered, and a handler that runs on has a slot of its own.
  function hasFreeSlot(serviceType, keyName, holdsSlot, concurrency)
    local held = tonumber(call('HGET', key('held', serviceType), keyName) or 0)
    if not holdsSlot then return held < concurrency end
    return held <= concurrency or workingJobs(serviceType, keyName) < concurrency
  end
end

local function mayRunOn(serviceType, job)
  local limits = stateOf(serviceType).keys
  local keyName = limits and limits.concurrency and call('HGET', job, 'held')
  return not keyName or hasFreeSlot(serviceType, keyName, true, limits.concurrency)
end

local function keyRateOpensAt(serviceType, keyName)
  local limits = stateOf(serviceType).keys
  local oldest = limits and limits.max and call('LINDEX', key('key-starts', serviceType, keyName), limits.max - 1)
  return oldest and oldest + limits.perMs or 0
end

-- Returns nothing if the queue is empty.
local function keyQueueOpensAt(serviceType, keyName)
  local order = call('ZRANGE', key('line', serviceType, keyName), 0, 0, 'WITHSCORES')[2]
  local limits = stateOf(serviceType).keys
  if not order or not limits or keyName == '' then return order and 0 end
  if limits.concurrency and not hasFreeSlot(serviceType, keyName, tonumber(order) < 0, limits.concurrency) then
    return never
  end
  return keyRateOpensAt(serviceType, keyName)
end

local function arrangeKeyQueue(serviceType, keyName)
  local ready, blocked = key('lines', serviceType), key('blocked', serviceType)
  local opensAt = keyQueueOpensAt(serviceType, keyName)
  if opensAt and opensAt <= now then
    call('ZREM', blocked, keyName)
    if call('ZSCORE', ready, keyName) then return end
    call('ZADD', ready, call('HINCRBY', key('dispatch', serviceType), 'lineTurn', 1), keyName)
  else
    call('ZREM', ready, keyName)
    if opensAt then call('ZADD', blocked, opensAt, keyName) else call('ZREM', blocked, keyName) end
  end
end

local function enterKeyQueue(serviceType, id, order, keyName, isHeld)
  local place = isHeld and order - constants.heldSpan or order
  call('ZADD', key('line', serviceType, keyName), string.format('%.0f', place), id)
  arrangeKeyQueue(serviceType, keyName)
end

local function leaveKeyQueue(serviceType, id)
  local keyName = keyNameOf(serviceType, id)
  if call('ZREM', key('line', serviceType, keyName), id) == 0 then return false end
  arrangeKeyQueue(serviceType, keyName)
  return true
end

local function popKeyQueue(serviceType)
  local ready = key('lines', serviceType)
  while true do
    local keyName = call('ZRANGE', ready, 0, 0)[1]
    if not keyName then return nil end
    call('ZREM', ready, keyName)
    local id = call('ZPOPMIN', key('line', serviceType, keyName))[1]
    if id then return id, keyName end
  end
end

local function holdKey(serviceType, job, keyName)
  if call('HSETNX', job, 'held', keyName) == 1 then call('HINCRBY', key('held', serviceType), keyName, 1) end
end

local function countKeyStart(serviceType, job, keyName)
  local limits = stateOf(serviceType).keys
  if not limits or keyName == '' then return end
  holdKey(serviceType, job, keyName)
  if not limits.max then return end
  local starts = key('key-starts', serviceType, keyName)
  call('LPUSH', starts, nowText)
  call('LTRIM', starts, 0, limits.max - 1)
  call('PEXPIRE', starts, limits.perMs)
end

-- Its own start: without a later one in its place, the window would be open too early.
local function uncountKeyStart(serviceType, job)
  local limits = stateOf(serviceType).keys
  if not limits or not limits.max then return end
  local keyName, startedAt = unpack(call('HMGET', job, 'held', 'processedOn'))
  if keyName then call('LREM', key('key-starts', serviceType, keyName), 1, startedAt) end
end

-- A handler that runs on takes a slot beside the one that its event may hold.
local function addHeld(serviceType, keyName, by)
  local held = key('held', serviceType)
  if call('HINCRBY', held, keyName, by) <= 0 then call('HDEL', held, keyName) end
  arrangeKeyQueue(serviceType, keyName)
end

local function pauseKey(serviceType, job)
  local keyName = call('HGET', job, 'held')
  if keyName then arrangeKeyQueue(serviceType, keyName) end
end

local function releaseKey(serviceType, job)
  local keyName = call('HGET', job, 'held')
  if not keyName then return end
  call('HDEL', job, 'held')
  addHeld(serviceType, keyName, -1)
end

local function openKeyQueues(serviceType)
  local blocked = key('blocked', serviceType)
  for _, keyName in ipairs(call('ZRANGEBYSCORE', blocked, '-inf', now, 'LIMIT', 0, constants.maxDuePerFetch)) do
    arrangeKeyQueue(serviceType, keyName)
  end
  local opensAt = tonumber(call('ZRANGE', blocked, 0, 0, 'WITHSCORES')[2])
  return opensAt and opensAt < never and opensAt or nil
end

local function firstKeyQueue(serviceType)
  return call('ZRANGE', key('lines', serviceType), 0, 0)[1] or call('ZRANGE', key('blocked', serviceType), 0, 0)[1]
end

local function firstInKeyQueues(serviceType, count)
  local keyName = firstKeyQueue(serviceType)
  return keyName and call('ZRANGE', key('line', serviceType, keyName), 0, count - 1) or {}
end

local function forgetKeyQueues(serviceType)
  if firstKeyQueue(serviceType) or call('EXISTS', key('held', serviceType)) == 1 then return end
  call('HDEL', key('dispatch', serviceType), 'hadKeys')
  stateOf(serviceType).hadKeys = false
end

local function sortWaiting(serviceType)
  local gate = key('gate', serviceType)
  if stateOf(serviceType).keys then
    local ids = call('ZRANGE', gate, 0, constants.maxDuePerFetch - 1, 'WITHSCORES')
    for index = 1, #ids, 2 do
      call('ZREM', gate, ids[index])
      enterKeyQueue(serviceType, ids[index], tonumber(ids[index + 1]), keyNameOf(serviceType, ids[index]))
    end
    return call('EXISTS', gate) == 1
  end
  for _ = 1, constants.maxDuePerFetch do
    local keyName = firstKeyQueue(serviceType)
    if not keyName then return false end
    local id, order = unpack(call('ZPOPMIN', key('line', serviceType, keyName)))
    if id then call('ZADD', gate, string.format('%.0f', order % constants.heldSpan), id) end
    arrangeKeyQueue(serviceType, keyName)
  end
  return firstKeyQueue(serviceType) ~= nil
end

-- A worker uses a token again.
local function overdueLease(token, id, starts)
  return table.concat({ token, id, starts }, ' ')
end

local function keepSlot(serviceType, token, id, starts, job, reason)
  local keyName = call('HGET', job, 'held') or ''
  local lease = overdueLease(token, id, starts)
  call('HSET', key('overdue', serviceType), lease, keyName)
  if reason then call('HSET', key('interrupted', serviceType), lease, reason) end
  if keyName ~= '' then addHeld(serviceType, keyName, 1) end
end

local function dropSlot(serviceType, lease)
  local overdue = key('overdue', serviceType)
  local keyName = call('HGET', overdue, lease)
  if not keyName then return false end
  call('HDEL', overdue, lease)
  call('HDEL', key('interrupted', serviceType), lease)
  if keyName ~= '' then addHeld(serviceType, keyName, -1) end
  return true
end

local function dropSlots(serviceType, process)
  for _, lease in ipairs(call('HKEYS', key('overdue', serviceType))) do
    if processOf(lease) == process then dropSlot(serviceType, lease) end
  end
end

local function interruption(serviceType, token, id, starts)
  return call('HGET', key('interrupted', serviceType), overdueLease(token, id, starts))
end
