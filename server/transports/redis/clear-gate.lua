--[[
Discards waiting and delayed events and suspended runs of a retired service type, at most constants.maxDiscarded per call.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service type
Reply    the number of discarded events
Access   works
]]
--- @include "./connection/prelude.lua"
--- @include "./jobs/gates.lua"
--- @include "./jobs/key-queues.lua"
--- @include "./jobs/type-states.lua"
--- @include "./statistics/counters.lua"
--- @include "./runs/suspended-runs.lua"
--- @include "./events/discard.lua"

local serviceType = take()
if isSubscribed(serviceType) then return 0 end
local ids = call('ZRANGE', key('gate', serviceType), 0, constants.maxDiscarded - 1)
for _, kind in ipairs({ 'delayed', 'newer' }) do
  if #ids == 0 then ids = call('ZRANGE', key(kind, serviceType), 0, constants.maxDiscarded - 1) end
end
if #ids == 0 then ids = firstInKeyQueues(serviceType, constants.maxDiscarded) end
if #ids == 0 then
  ids = call('HRANDFIELD', key('suspended', serviceType), constants.maxDiscarded)
  for _, id in ipairs(ids) do restoreRun(serviceType, id) end
end
for _, id in ipairs(ids) do
  local queue = jobQueue(serviceType, id)
  if queue then discard(queue, id) else leaveGate(serviceType, id) end
end
arrangeTypes()
writeChanges()
return #ids
