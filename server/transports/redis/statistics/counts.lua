--[[
Reads the counts of many types.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     types, separated by commas
Reply    lists, as readCounts returns them
Access   reads
]]
--- @include "./count-records.lua"
--- @include "./read-counts.lua"

return (readCounts(unfoldedSums()))
