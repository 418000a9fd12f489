--[[
Finds the events with an id in all services.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     job id, "shown" or "all"
Reply    for each type and service that has one the result of readEvent
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "./stored-events.lua"

local id, parts = take(), take()
local reply = {}
for _, serviceType in ipairs(placesOf(id)) do reply[#reply + 1] = readEvent(serviceType, id, parts) end
return reply
