--[[
Reads the counts and the history of a type.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     type
Reply    the time, the lists of readCounts, the minutes and the history
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./count-records.lua"
--- @include "./read-activity.lua"
--- @include "./read-counts.lua"

local sums = unfoldedSums()
return { now, (readCounts(sums)), readPeriods(ARGV[1], sums) }
