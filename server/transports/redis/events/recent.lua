--[[
Reads the newest events of a type that are pending or retained.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     type
Reply    for each event the result of readEvent
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/key-queues.lua"
--- @include "../statistics/count-records.lua"
--- @include "./stored-events.lua"

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
      if #ids < constants.retainedRecent and call('HGET', queue .. id, 'serviceType') == serviceType then ids[#ids + 1] = id end
    end
  end
  return ids
end

for _, serviceType in ipairs(serviceTypesOf(take())) do
  add(serviceType, call('ZREVRANGE', key('runs', serviceType), 0, constants.retainedRecent - 1))
  add(serviceType, call('LRANGE', key('ended', serviceType, 'failed'), 0, constants.retainedRecent - 1))
  for _, name in ipairs({ serviceType, serviceOf(serviceType) }) do add(serviceType, runningOf(queueKey(name), serviceType)) end
  add(serviceType, call('ZREVRANGE', key('gate', serviceType), 0, constants.retainedRecent - 1))
  for _, kind in ipairs({ 'delayed', 'newer' }) do
    add(serviceType, call('ZRANGE', key(kind, serviceType), 0, constants.retainedRecent - 1))
  end
  add(serviceType, firstInKeyQueues(serviceType, constants.retainedRecent))
  for _, status in ipairs({ 'completed', 'failed' }) do
    local ids = call('LRANGE', key('recent', serviceType, status), 0, constants.retainedRecent - 1)
    for index, element in ipairs(ids) do ids[index] = string.match(element, '^%S+') end
    add(serviceType, ids)
  end
end
return reply
