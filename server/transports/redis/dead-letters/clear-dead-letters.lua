--[[
Deletes dead letters of a retired service type, at most constants.maxDiscarded per call.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type
Reply    the number of deleted dead letters
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/type-states.lua"

local serviceType = take()
if isSubscribed(serviceType) then return 0 end
local ids = call('ZRANGE', key('dead-letters', serviceType), 0, constants.maxDiscarded - 1)
for _, id in ipairs(ids) do deleteDeadLetter(serviceType, id) end
writeLog()
return #ids
