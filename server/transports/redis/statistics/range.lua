--[[
Reads the histories of many types.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     types, separated by commas
Reply    the time, then the minutes and the history of each type
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"
--- @include "./read-activity.lua"

local reply, sums = { now }, unfoldedSums()
for _, type in ipairs(splitList(take())) do reply[#reply + 1] = readPeriods(type, sums) end
return reply
