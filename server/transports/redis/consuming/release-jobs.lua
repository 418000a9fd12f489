--[[
Releases leased jobs with no attempt spent: in the order of their start they are the next of their queue. Jobs of a type that has a rate or another queue by now, or is paused, or that exceed a limit, return to the gate.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     queue, 1 if the handlers of the jobs were started, (job id, token)...
Reply    the number of released jobs
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/attempts.lua"
--- @include "../jobs/gates.lua"
--- @include "../jobs/key-queues.lua"
--- @include "../jobs/leases.lua"
--- @include "../jobs/type-states.lua"
--- @include "../statistics/counters.lua"

local queue, wereStarted = take(), take() == '1'
local released = 0
for index = #ARGV - 1, 3, -2 do
  local id, token = ARGV[index], ARGV[index + 1]
  if leaseOf(queue, id, token) == 'ok' then
    local serviceType, order = unpack(call('HMGET', queue .. id, 'serviceType', 'order'))
    local state = stateOf(serviceType)
    endLease(queue, id)
    changesOf(serviceType)
    if wereStarted then noteInterruption(queue .. id) end
    call('HDEL', queue .. id, 'started', 'leased')
    local exceeds = state.concurrency and state.taken > state.concurrency or not mayRunOn(serviceType, queue .. id)
    if queueKey(state.queue) == queue and not exceeds and not state.isPaused and not isRated(serviceType) then
      call('RPUSH', queue .. 'wait', id)
    else
      countReturned(serviceType)
      enterGate(serviceType, id, order)
    end
    released = released + 1
  end
end
arrangeTypes()
writeChanges()
wakeWorker(queue)
return released
