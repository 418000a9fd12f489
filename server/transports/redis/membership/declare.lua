--[[
Keeps events of declared types for services that have not started yet.

KEYS[1]  prefix of the transport, a hash tag from which every key is derived
ARGV     (service type, type)...
Reply    nothing
Access   works
]]
--- @include "../connection/prelude.lua"
--- @include "../statistics/counters.lua"
--- @include "../jobs/type-states.lua"

while position < #ARGV do
  local serviceType, type = take(), take()
  if not isSubscribed(serviceType) then
    subscribe(serviceType, { serviceType = serviceType, type = type })
    changesOf(serviceType)
  end
end
writeChanges()
call('INCR', key('revision'))
