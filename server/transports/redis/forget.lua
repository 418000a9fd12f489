--[[
Deletes what is left of retired service types, and their queues if those are empty. The queue that the types of a service share is deleted with the last of them.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, service type...
Reply    nothing
Access   works
]]
--- @include "./connection/prelude.lua"
--- @include "./jobs/type-states.lua"
--- @include "./jobs/worker-queues.lua"
--- @include "./membership/live-handlers.lua"
--- @include "./membership/retained-descriptions.lua"

local service = take()
while position < #ARGV do
  local serviceType = take()
  -- A process that has registered since is about to subscribe.
  if not isSubscribed(serviceType) and not hasLiveHandler(serviceType) then
    local queue = stateOf(serviceType).queue
    if queue == service then call('HINCRBY', key('settlement', service), 'shared', -1) end
    call('ZREM', key('turns', queue), serviceType)
    call('ZREM', key('due', queue), serviceType)
    call('SREM', key('subscribed', service), serviceType)
    call('SREM', key('newer-types', service), serviceType)
    for _, kind in ipairs({ 'handlers', 'dispatch', 'starts', 'overdue', 'interrupted', 'lines', 'blocked', 'held', 'windows', 'newer', 'backlog' }) do
      call('DEL', key(kind, serviceType))
    end
    forgetQueue(serviceType)
  end
end
if call('EXISTS', key('subscribed', service)) == 0 then
  forgetQueue(service)
  call('SREM', key('services'), service)
  call('DEL', key('members', service), key('settlement', service))
  dropDescriptions(service)
end
call('INCR', key('revision'))
