--[[
Finds an event of a service that can be cancelled.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, job id
Reply    queue, service type, data of the job; nothing if there is no such event
Access   reads
]]
--- @include "../connection/prelude.lua"
--- @include "../jobs/event-log.lua"
--- @include "../jobs/type-states.lua"
--- @include "./cancellable.lua"

local service, id = take(), take()
for _, serviceType in ipairs(placesOf(id)) do
  local queue = serviceOf(serviceType) == service and jobQueue(serviceType, id)
  if queue and isCancellable(serviceType, queue, id) then
    return { queue, serviceType, call('HGET', queue .. id, 'data') }
  end
end
return nil
