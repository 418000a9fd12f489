--[[
Reads the events of a request, and drops those from the index that are no longer retained.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     id of the request as JSON and as a job id
Reply    for each event the result of readEvent
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "./stored-events.lua"

local requestId, ownId = take(), take()
local reply, isRead = {}, {}
for _, event in ipairs(eventsOf(requestId, ownId, constants.maxRequestEvents + 1)) do
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
