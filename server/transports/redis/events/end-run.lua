--[[
Ends a run, leased or not, and the child runs that it waits for.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type, job id, reason as JSON, outcome
Reply    a commit result; fenced if the run is unknown
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../statistics/counters.lua"
--- @include "./attempt-ends.lua"
--- @include "./run-trees.lua"

local serviceType, id, reason = take(), take(), take()
local result = endTree(serviceType, id, takeOutcome(), reason)
arrangeTypes()
writeChanges()
return result
