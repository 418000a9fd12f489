--- @include "../connection/prelude.lua"
--- @include "./key-queues.lua"
--- @include "./newer-runs.lua"
--- @include "./type-states.lua"

-- Moves of a job between the sets and lists of its worker queue, which are laid out as BullMQ 6 expects them. `queue`
-- is the prefix of the queue's keys. `endLease(queue, id)` returns 1 if the job was leased; `leaveActive(queue, id)` does
-- the same for a job whose lock is deleted with it. `readLocks(jobs)` reads the locks of many jobs at once for
-- `lockOf(job)`, which returns the token of one.

local woken
local function wakeWorker(queue)
  if woken[queue] then return end
  woken[queue] = true
  call('ZADD', queue .. 'marker', '0', '0')
end

local locks
local function readLocks(jobs)
  if #jobs == 0 then return end
  local names = {}
  for index, job in ipairs(jobs) do names[index] = job .. ':lock' end
  local tokens = call('MGET', unpack(names))
  for index, job in ipairs(jobs) do locks[job] = tokens[index] end
end

local function lockOf(job)
  local token = locks[job]
  if token == nil then return call('GET', job .. ':lock') end
  return token
end

-- An id that stays in "stalled" has no effect: BullMQ looks for it among the active jobs.
local function leaveActive(queue, id)
  locks[queue .. id] = false
  return call('LREM', queue .. 'active', '-1', id)
end

local function endLease(queue, id)
  call('DEL', queue .. id .. ':lock')
  return leaveActive(queue, id)
end

-- The gate in front of the worker queues. Events that wait stand in the gate of their service type, ordered by
-- priority, then acceptance, or in the queue of its key; delayed ones by their due time. BullMQ receives an event when a
-- worker takes it.
--
-- A queue has two sorted sets of service types. `turns` holds those with an event that may start now. They take turns
-- by start-time fair queueing (Goyal, Vin, Cheng 1996): the next turn of a type comes one after its last one, and not
-- before the last turn that the queue gave. `due` holds the times at which delays end, rates open and waits of runs end.
--
-- - `enterGate(serviceType, id, order)`, `enterLater(serviceType, id, delayMs)` add a waiting or delayed event
-- - `leaveGate(serviceType, id)` removes one, `takeFromGate(serviceType)` the next one, with the key of its queue
-- - `holdOnToKey(serviceType, job)` after the end of an attempt, `freeKey(serviceType, job)` after that of an event, which
--   frees the slot of its key
-- - `countTaken(serviceType, count)`, `countReturned(serviceType)` count the events that stand in BullMQ
-- - `uncountStart(serviceType, job)` takes back the start of a job: its handler did not start, or its service refused it
-- - `isRated(serviceType)`: if a rate limits the starts of a type or of its keys
-- - `opensAt(serviceType)` returns the time from which the limits of a type allow a start; nothing while they need an end
-- - `arrangeTypes()` gives the types that changed their turns, and wakes workers; scripts call it once, at their end

local changedTypes, enteredTypes

-- A debounce window ends if its event is due or leaves.
local function closeWindow(serviceType, id)
  local queue = jobQueue(serviceType, id)
  local keyName = queue and call('HGET', queue .. id, 'window')
  if not keyName then return end
  call('HDEL', queue .. id, 'window')
  call('HDEL', key('windows', serviceType), keyName)
end

local function enterGate(serviceType, id, order)
  local state, gate = stateOf(serviceType), key('gate', serviceType)
  local isLimited = state.concurrency or state.max or state.keys or state.hadKeys
  if state.isOpen and not isLimited then enteredTypes[serviceType] = true else changedTypes[serviceType] = true end
  if state.keys then
    local keyName, isHeld = keyNameOf(serviceType, id)
    -- Behind those that have yet to be sorted by key.
    if isHeld or call('EXISTS', gate) == 0 then
      enterKeyQueue(serviceType, id, tonumber(order), keyName, isHeld)
      return
    end
  end
  call('ZADD', gate, order, id)
end

local function enterLater(serviceType, id, delayMs)
  call('ZADD', key('delayed', serviceType), now + math.ceil(delayMs), id)
  changedTypes[serviceType] = true
end

local function leaveGate(serviceType, id)
  local left = call('ZREM', key('gate', serviceType), id) + call('ZREM', key('delayed', serviceType), id)
  local state = stateOf(serviceType)
  local hasLeft = left > 0 or state.hasNewer and leaveNewer(serviceType, id) or state.hadKeys and leaveKeyQueue(serviceType, id)
  if not hasLeft then return false end
  changedTypes[serviceType] = true
  closeWindow(serviceType, id)
  return true
end

local function takeFromGate(serviceType)
  if stateOf(serviceType).keys then return popKeyQueue(serviceType) end
  return call('ZPOPMIN', key('gate', serviceType))[1]
end

local function holdOnToKey(serviceType, job)
  if not stateOf(serviceType).keys then return end
  pauseKey(serviceType, job)
  changedTypes[serviceType] = true
end

local function freeKey(serviceType, job)
  if not stateOf(serviceType).hadKeys then return end
  releaseKey(serviceType, job)
  changedTypes[serviceType] = true
end

-- Only a limit needs the number; a rebalance that sets one counts anew.
local function countTaken(serviceType, count)
  local state = stateOf(serviceType)
  if not state.concurrency or count == 0 then return end
  state.taken = state.taken + count
  call('HSET', key('dispatch', serviceType), 'taken', state.taken)
end

local function countReturned(serviceType)
  local state = stateOf(serviceType)
  if not state.concurrency then return end
  state.taken, state.hasReturned = math.max(state.taken - 1, 0), true
  changedTypes[serviceType] = true
end

local function isRated(serviceType)
  local state = stateOf(serviceType)
  return state.max or state.keys and state.keys.max
end

-- Starts are retained for longer than the window, for a rate with a longer one.
local function countStart(serviceType)
  local state = stateOf(serviceType)
  if not state.max then return end
  local starts = key('starts', serviceType)
  call('LPUSH', starts, nowText)
  call('LTRIM', starts, 0, state.max - 1)
  call('PEXPIRE', starts, math.max(state.perMs, constants.retainedStartsMs))
end

local function uncountStart(serviceType, job)
  if not isRated(serviceType) then return end
  call('LREM', key('starts', serviceType), 1, call('HGET', job, 'processedOn') or '')
  uncountKeyStart(serviceType, job)
  changedTypes[serviceType] = true
end

local function endTurn(serviceType)
  local state = stateOf(serviceType)
  local turns = key('turns', state.queue)
  local turn = call('ZSCORE', turns, serviceType)
  if not turn then return end
  -- Its next turn comes after the one that it did not use.
  state.turn = turn - 1
  call('HSET', key('dispatch', serviceType), 'turn', state.turn)
  call('ZREM', turns, serviceType)
end

-- In a block of its own: a script has at most 200 local names.
local arrange, arrangeTypes, opensAt
do
  local function wakeAtDueTime(serviceType, at)
    local queue = stateOf(serviceType).queue
    local due = key('due', queue)
    call('ZADD', due, at, serviceType)
    -- The worker that wakes learns the due time from the reply.
    if call('ZRANGE', due, '0', '0')[1] == serviceType then wakeWorker(queueKey(queue)) end
  end

  function opensAt(serviceType)
    local state = stateOf(serviceType)
    if not state.isOpen or state.concurrency and state.taken >= state.concurrency then return nil end
    -- A lower maximum before may have forgotten starts up to `startsFrom`.
    local oldest = state.max and (call('LINDEX', key('starts', serviceType), state.max - 1) or state.startsFrom)
    return oldest and oldest + state.perMs or 0
  end

  local function giveTurn(serviceType)
    local state = stateOf(serviceType)
    local last = tonumber(call('GET', key('turn', state.queue)) or 0)
    call('ZADD', key('turns', state.queue), 'NX', math.max(last, state.turn + 1), serviceType)
    wakeWorker(queueKey(state.queue))
  end

  local function earliest(at, other)
    return at and other and math.min(at, other) or at or other
  end

  function arrange(serviceType)
    local state = stateOf(serviceType)
    if state.hasReturned then
      call('HSET', key('dispatch', serviceType), 'taken', state.taken)
      state.hasReturned = false
    end
    local wakeAt = tonumber(call('ZRANGE', key('delayed', serviceType), '0', '0', 'WITHSCORES')[2])
    if state.hadKeys and sortWaiting(serviceType) then wakeAt = now end
    if state.hadKeys and not state.keys then forgetKeyQueues(serviceType) end
    if state.keys then wakeAt = earliest(wakeAt, openKeyQueues(serviceType)) end
    if state.hasTimers then
      wakeAt = earliest(wakeAt, tonumber(call('ZRANGE', key('timers', serviceType), 0, 0, 'WITHSCORES')[2]))
    end
    local hasWaiting = call('EXISTS', key(state.keys and 'lines' or 'gate', serviceType)) == 1
    local opens = (hasWaiting or state.hasNewer) and opensAt(serviceType)
    local isOpen = opens and opens <= now
    if opens and not isOpen then wakeAt = earliest(wakeAt, opens) end
    if isOpen and state.hasNewer then wakeNewer(serviceType) end
    if isOpen and hasWaiting then giveTurn(serviceType) else endTurn(serviceType) end
    if wakeAt then wakeAtDueTime(serviceType, wakeAt) else call('ZREM', key('due', state.queue), serviceType) end
  end

  function arrangeTypes()
    for serviceType in pairs(changedTypes) do arrange(serviceType) end
    -- An event that enters an open gate without limits changes no due time.
    for serviceType in pairs(enteredTypes) do
      if not changedTypes[serviceType] then giveTurn(serviceType) end
    end
    changedTypes, enteredTypes = {}, {}
  end
end

--- @per-call
woken, locks = {}, {}
changedTypes, enteredTypes = {}, {}
