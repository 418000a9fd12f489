--[[
Reads the durations of many types.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     types, separated by commas
Reply    the minutes that are not in the histories yet, and of each type the text of its history that has the durations
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"

local types, latest = splitList(take()), {}
for index, type in ipairs(types) do latest[index] = call('HGET', key('history', type), 'latest') end
return { readMinutes(types, unfoldedSums(), '-inf'), latest }
