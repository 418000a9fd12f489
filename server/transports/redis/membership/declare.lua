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

-- A service whose workflows alone receive the type needs no copies.
local function triggersRun(serviceType)
  for _, field in ipairs(call('HKEYS', key('routes', typeOf(serviceType)))) do
    if string.find(field, ' triggered', 1, true) and serviceOf(field) == serviceOf(serviceType) then return true end
  end
  return false
end

while position < #ARGV do
  local serviceType, type = take(), take()
  if not isSubscribed(serviceType) and not triggersRun(serviceType) then
    subscribe(serviceType, { serviceType = serviceType, type = type, isBacklog = true })
    changesOf(serviceType)
  end
end
writeChanges()
call('INCR', key('revision'))
