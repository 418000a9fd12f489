--[[
Returns a leased job that this process cannot run, or not now, to the gate of its type, or discards it if nothing subscribes to its type.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     queue, job id, token, delay in milliseconds
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/leases.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"
--- @include "../events/discard.lua"

local queue, id, token, delayMs = take(), take(), take(), takeNumber()
if leaseOf(queue, id, token) ~= 'ok' then return end
local serviceType, order = unpack(call('HMGET', queue .. id, 'serviceType', 'order'))
if isSubscribed(serviceType) then
  endLease(queue, id)
  countReturned(serviceType)
  -- The handler did not start.
  call('HDEL', queue .. id, 'leased')
  uncountStart(serviceType, queue .. id)
  -- Without the delay a process that is not yet, or no longer, part of the rebalance would take it again at once.
  if queueKey(stateOf(serviceType).queue) == queue then
    enterLater(serviceType, id, delayMs)
  else
    enterGate(serviceType, id, order)
  end
  holdOnToKey(serviceType, queue .. id)
  changesOf(serviceType)
else
  discard(queue, id)
end
arrangeTypes()
writeChanges()
