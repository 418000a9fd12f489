--[[
Rebalances service types of a service, about constants.maxTypesPerScript per call.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, cursor
Reply    the next cursor, "0" at the end
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/key-queues.lua"
--- @include "../jobs/type-states.lua"
--- @include "./live-handlers.lua"

-- `limitKeys(serviceType, limits)` changes the limits per key, also of what waits and runs.

local function holdTakenJobs(serviceType)
  for _, name in ipairs(call('SMEMBERS', key('queues'))) do
    if serviceOf(name) == serviceOf(serviceType) then
      for _, list in ipairs({ 'wait', 'active' }) do
        for _, id in ipairs(call('LRANGE', queueKey(name) .. list, 0, -1)) do
          local owner, keyName = unpack(call('HMGET', queueKey(name) .. id, 'serviceType', 'key'))
          if owner == serviceType and keyName then holdKey(serviceType, queueKey(name) .. id, keyName) end
        end
      end
    end
  end
end

local function limitKeys(serviceType, limits)
  local dispatch = key('dispatch', serviceType)
  local json = limits and cjson.encode(limits)
  if json == (call('HGET', dispatch, 'keys') or nil) then return end
  if not json then
    call('HDEL', dispatch, 'keys')
    return
  end
  call('HSET', dispatch, 'keys', json, 'hadKeys', 1)
  holdTakenJobs(serviceType)
  -- All key queues are arranged anew, some with each call of openKeyQueues.
  local ready, blocked = key('lines', serviceType), key('blocked', serviceType)
  call('ZUNIONSTORE', blocked, 2, blocked, ready, 'WEIGHTS', 0, 0)
  call('DEL', ready)
end

-- `putIntoEffect(serviceType, json)` puts the settings of a process into effect: route, triggers, limits.

local function putIntoEffect(serviceType, json)
  local wanted = cjson.decode(json)
  local dispatch = key('dispatch', serviceType)
  local route = { serviceType = serviceType, type = wanted.type, retainsRuns = wanted.retainsRuns, debounce = wanted.debounce }
  subscribe(serviceType, route)
  call('DEL', key('backlog', serviceType))

  local field = serviceType .. ' triggered'
  for former in string.gmatch(call('HGET', dispatch, 'trigger') or '', '[^,]+') do call('HDEL', key('routes', former), field) end
  call('HDEL', dispatch, 'trigger')
  if wanted.trigger then
    route.isTriggered = true
    call('HSET', dispatch, 'trigger', wanted.trigger)
    for trigger in string.gmatch(wanted.trigger, '[^,]+') do call('HSET', key('routes', trigger), field, cjson.encode(route)) end
  end

  local formerMax = tonumber(call('HGET', dispatch, 'max') or 0)
  if formerMax > 0 and (wanted.max or 0) > formerMax then
    local oldest = call('LINDEX', key('starts', serviceType), formerMax - 1)
    if oldest then call('HSET', dispatch, 'startsFrom', oldest) end
  end
  for _, limit in ipairs({ 'concurrency', 'max', 'perMs', 'keepCompleted', 'keepFailed', 'keepMs' }) do
    if wanted[limit] then call('HSET', dispatch, limit, wanted[limit]) else call('HDEL', dispatch, limit) end
  end
  if wanted.retainsRuns then call('HSET', dispatch, 'hadRuns', 1) end
  call('HSET', dispatch, 'settings', json)
  limitKeys(serviceType, wanted.keys)
end

-- `rebalance(serviceType)` decides by the members of the service where the events of a service type go. The settings of
-- the process that started last hold; if no process handles the type, the last ones do, and its gate is closed. A type
-- without limits that all members handle goes through the queue that the service shares, so that no process receives
-- an event that it cannot run.

local members, memberCount
local function readMembers(service)
  local list = call('ZRANGE', key('members', service), 0, -1, 'WITHSCORES')
  for index = 1, #list, 2 do members[list[index]] = tonumber(list[index + 1]) end
  memberCount = #list / 2
end

local takenByType
local function countTakenJobs(serviceType)
  if not takenByType then
    takenByType = {}
    for _, name in ipairs(call('SMEMBERS', key('queues'))) do
      if serviceOf(name) == serviceOf(serviceType) then
        for _, list in ipairs({ 'wait', 'active' }) do
          for _, id in ipairs(call('LRANGE', queueKey(name) .. list, 0, -1)) do
            local owner = call('HGET', queueKey(name) .. id, 'serviceType')
            if owner then takenByType[owner] = (takenByType[owner] or 0) + 1 end
          end
        end
      end
    end
  end
  return (takenByType[serviceType] or 0) + call('HLEN', key('overdue', serviceType))
end

local function latestHandler(serviceType)
  local handlers = call('HGETALL', key('handlers', serviceType))
  local count, latest, json, hasFreed = 0, -1, nil, false
  for index = 1, #handlers, 2 do
    local process, order = handlers[index], members[handlers[index]]
    if order then
      count = count + 1
      if order > latest then latest, json = order, handlers[index + 1] end
    elseif not isLive(process) then
      call('HDEL', key('handlers', serviceType), process)
      hasFreed = hasFreed or call('EXISTS', key('overdue', serviceType)) == 1
      dropSlots(serviceType, process)
    end
  end
  return json, count, hasFreed
end

local function assign(serviceType, queue)
  local former = stateOf(serviceType).queue
  local service = serviceOf(serviceType)
  call('HSET', key('dispatch', serviceType), 'queue', queue)
  call('SADD', key('queues'), queue)
  call('HSET', queueKey(queue) .. 'meta', 'opts.maxLenEvents', constants.retainedQueueEvents)
  if queue == former then return end
  endTurn(serviceType)
  call('ZREM', key('due', former), serviceType)
  if queue == service then call('HINCRBY', key('settlement', service), 'shared', 1) end
  if former == service then call('HINCRBY', key('settlement', service), 'shared', -1) end
end

-- Types of which the service starts nothing, as pause-types.lua stored them.
local paused, isAllPaused
local function readPaused(service)
  local stored = call('HGET', key('settlement', service), 'paused')
  isAllPaused = stored == 'all'
  if not stored or isAllPaused then return end
  for _, serviceType in ipairs(cjson.decode(stored)) do paused[serviceType] = true end
end

-- Returns `true` if it changes the state of the type.
local function pause(serviceType)
  local isPaused = isAllPaused or paused[serviceType] or false
  if stateOf(serviceType).isPaused == isPaused then return false end
  if isPaused then
    call('HSET', key('dispatch', serviceType), 'isPaused', 1)
  else
    call('HDEL', key('dispatch', serviceType), 'isPaused')
  end
  return true
end

local function rebalance(serviceType)
  local dispatch = key('dispatch', serviceType)
  -- The events of a key may start whose handler was on a dead process.
  local json, handlerCount, hasFreed = latestHandler(serviceType)
  local hasPaused = pause(serviceType)
  local former, isOpen, queue, concurrency, max =
    unpack(call('HMGET', dispatch, 'settings', 'isOpen', 'queue', 'concurrency', 'max'))
  if not json then
    if isOpen ~= '1' then return end
    call('HSET', dispatch, 'isOpen', 0)
  else
    local isChanged = json ~= former or not isSubscribed(serviceType)
    if isChanged then
      putIntoEffect(serviceType, json)
      concurrency, max = unpack(call('HMGET', dispatch, 'concurrency', 'max'))
    end
    local wanted = serviceType
    if not concurrency and not max and handlerCount == memberCount then wanted = serviceOf(serviceType) end
    local isSame = not isChanged and not hasPaused and not hasFreed
    if isSame and isOpen == '1' and queue == wanted and not concurrency then return end
    call('HSET', dispatch, 'isOpen', 1)
    if queue ~= wanted then assign(serviceType, wanted) end
    call('HSET', dispatch, 'taken', countTakenJobs(serviceType))
  end
  states[serviceType] = nil
  arrange(serviceType)
end

--- @per-call
members, memberCount, takenByType, paused = {}, 0, nil, {}
local service, cursor = take(), take()
readMembers(service)
readPaused(service)
local page = call('SSCAN', key('subscribed', service), cursor, 'COUNT', constants.maxTypesPerScript)
for _, serviceType in ipairs(page[2]) do rebalance(serviceType) end
return page[1]
