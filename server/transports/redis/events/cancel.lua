--[[
Ends an event, and the child runs that it waits for, if it is still as the caller read it. The process that runs it receives the reason.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     queue, job id, service type, data of the job, reason as JSON, outcome
Reply    1; 0 if it does not
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../statistics/counters.lua"
--- @include "./attempt-ends.lua"
--- @include "./run-trees.lua"
--- @include "./cancellable.lua"
--- @include "./event-ends.lua"

local queue, id, serviceType, data, reason = take(), take(), take(), take(), take()
local outcome = takeOutcome()
if call('HGET', queue .. id, 'data') ~= data or not isCancellable(serviceType, queue, id) then return 0 end
outcome.attempt = tonumber(call('HGET', queue .. id, 'atm') or 0) + 1
if call('EXISTS', key('run', serviceType, id)) == 1 then
  endTree(serviceType, id, outcome, reason)
else
  interrupt(queue, id, serviceType, reason)
  endAttempt(queue, id, serviceType, false, outcome)
end
arrangeTypes()
writeChanges()
return 1
