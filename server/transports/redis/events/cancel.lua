--[[
Ends an event, and the child runs that it waits for, if it still waits, and as the caller read it.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     queue, job id, service type, data of the job, outcome
Reply    1; 0 if it does not
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../statistics/counters.lua"
--- @include "./attempt-ends.lua"
--- @include "./run-trees.lua"
--- @include "./stands-waiting.lua"

local queue, id, serviceType, data = take(), take(), take(), take()
local outcome = takeOutcome()
if call('HGET', queue .. id, 'data') ~= data or not standsWaiting(serviceType, queue, id) then return 0 end
outcome.attempt = tonumber(call('HGET', queue .. id, 'atm') or 0) + 1
if call('EXISTS', key('run', serviceType, id)) == 1 then
  endTree(serviceType, id, outcome, outcome.value)
else
  withdraw(queue, id, serviceType)
  endAttempt(queue, id, serviceType, false, outcome)
end
arrangeTypes()
writeChanges()
return 1
