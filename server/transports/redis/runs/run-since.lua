--[[
Reads a run with its entries from a position on, without payload, result and outputs.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type, job id, position
Reply    service type, job id and fields of the run; nothing if it is unknown
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./read-run.lua"
--- @include "./run-retention.lua"

local serviceType, id, from = take(), take(), takeNumber()
return not isExpired(serviceType, id) and readRun(serviceType, id, 'shown', from)
