--[[
Ends subscriptions of a service, all or those of some service types, unless a live process handles one of them, or events or dead letters would be discarded without permission.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     service, 1 to discard, service type...; no service type means all
Reply    "layout" if Redis has data in another layout; "none" and the services that subscribe; "running" and a service type; "pending" and the numbers of events and dead letters; or "done" with queues, service types, and both numbers
Access   works
]]
--- @include "./connection/data-layout.lua"
--- @include "./connection/prelude.lua"
--- @include "./jobs/event-log.lua"
--- @include "./jobs/type-states.lua"
--- @include "./statistics/count-records.lua"
--- @include "./membership/live-handlers.lua"

-- Its counts, and so the number of pending events, are unknown.
if hasOtherLayout() then return { 'layout' } end
local service, mayDiscard = take(), take() == '1'
local only
while position < #ARGV do
  only = only or {}
  only[take()] = true
end

local found = {}
for _, serviceType in ipairs(call('SMEMBERS', key('subscribed', service))) do
  if not only or only[serviceType] then found[serviceType] = true end
end
if next(found) == nil then return { 'none', unpack(call('SMEMBERS', key('services'))) } end

local serviceTypes, pending, deadLetterCount, sums = {}, 0, 0, unfoldedSums()
for serviceType in pairs(found) do
  if hasLiveHandler(serviceType) then return { 'running', serviceType } end
  local received, completed, failed = string.match(readShares({ serviceType }, sums)[1] or '', '^(%d+) (%d+) (%d+)')
  pending = pending + (received or 0) - (completed or 0) - (failed or 0)
  deadLetterCount = deadLetterCount + countDeadLetters(serviceType)
  serviceTypes[#serviceTypes + 1] = serviceType
end
if pending + deadLetterCount > 0 and not mayDiscard then return { 'pending', pending, deadLetterCount } end

for serviceType in pairs(found) do
  call('HDEL', key('routes', typeOf(serviceType)), serviceType)
  for _, trigger in ipairs(splitList(call('HGET', key('dispatch', serviceType), 'trigger'))) do
    call('HDEL', key('routes', trigger), serviceType .. ' triggered')
  end
  call('HDEL', key('dispatch', serviceType), 'settings', 'trigger')
  -- A process that stalled may still fetch events.
  call('HSET', key('dispatch', serviceType), 'isOpen', 0)
  call('ZREM', key('turns', stateOf(serviceType).queue), serviceType)
end
local queues = {}
for _, name in ipairs(call('SMEMBERS', key('queues'))) do
  if serviceOf(name) == service then queues[#queues + 1] = name end
end
return { 'done', queues, serviceTypes, pending, deadLetterCount }
