--[[
Reads a run.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type, job id
Reply    service type, job id and fields of the run; nothing if it is unknown
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "./read-run.lua"
--- @include "./run-retention.lua"

local serviceType, id = take(), take()
return not isExpired(serviceType, id) and readRun(serviceType, id, 'all')
