--[[
Records the verdict on an offer of a run.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     lease, name of the kept event, condition, verdict, entry of a wait that failed or empty
Reply    a commit result (already if the run no longer has the offer), and the offers that follow as offersOf returns them
Access   stores
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../statistics/counters.lua"
--- @include "../runs/run-waits.lua"

local queue, id, token, starts, serviceType = take(), take(), take(), take(), take()
if leaseOf(queue, id, token, starts) ~= 'ok' then return { 'fenced', {} } end
local result, offers = decide(serviceType, id, take(), take(), take(), take())
arrangeTypes()
writeChanges()
return { result, offers }
