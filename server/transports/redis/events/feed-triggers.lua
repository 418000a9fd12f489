--[[
Starts the runs of events that were kept for a service before it subscribed to their type, at most constants.maxDiscarded per call. With the last of them the triggers take effect, and a service that does not handle the type keeps no further copies.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type of the event, 1 if the process handles it, (service type of a triggered workflow, its settings as JSON)...
Reply    1 if events may be left, else 0
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-data.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "./acceptance.lua"
--- @include "./event-ends.lua"

local serviceType, isHandled = take(), take() == '1'
local type = typeOf(serviceType)
local stored = call('HGET', key('routes', type), serviceType)
if not stored or not cjson.decode(stored).isBacklog then return 0 end

local triggered = {}
while position < #arguments do
  local owner, wanted = take(), cjson.decode(take())
  triggered[#triggered + 1] = { serviceType = owner, type = wanted.type, retainsRuns = wanted.retainsRuns }
end

local function triggerRuns(queue, id, data)
  local dueAt = tonumber(call('ZSCORE', key('delayed', serviceType), id))
  local priority, keyName = unpack(call('HMGET', queue .. id, 'priority', 'key'))
  local envelope = {
    id = id, type = type, key = keyName or '', priority = priority, delayMs = dueAt and math.max(0, dueAt - now) or 0,
    head = headOf(data), depth = string.match(data, '"depth":(%d+),"replays":%d+}$'),
  }
  for _, route in ipairs(triggered) do
    acceptTriggered({ serviceType = route.serviceType, type = route.type, retainsRuns = route.retainsRuns, isTriggered = true }, envelope)
  end
end

local ids = call('ZPOPMIN', key('backlog', serviceType), constants.maxDiscarded)
for index = 1, #ids, 2 do
  local id = ids[index]
  local queue = jobQueue(serviceType, id)
  local data = queue and call('HGET', queue .. id, 'data')
  if data and headOf(data) then
    triggerRuns(queue, id, data)
    if not isHandled then
      withdraw(queue, id, serviceType)
      endJob(queue, id, serviceType, false, { status = 'completed', attempt = 1, value = '' })
    end
  end
end
local mayHaveMore = #ids == 2 * constants.maxDiscarded
if not mayHaveMore then
  if isHandled then
    subscribe(serviceType, { serviceType = serviceType, type = decodeName(type) })
  else
    call('HDEL', key('routes', type), serviceType)
  end
  for _, route in ipairs(triggered) do
    subscribe(route.serviceType, route)
    route.isTriggered = true
    local others = call('HGET', key('dispatch', route.serviceType), 'trigger')
    call('HSET', key('dispatch', route.serviceType), 'trigger', others and others .. ',' .. type or type)
    call('HSET', key('routes', type), route.serviceType .. ' triggered', cjson.encode(route))
  end
end
arrangeTypes()
writeChanges()
return mayHaveMore and 1 or 0
