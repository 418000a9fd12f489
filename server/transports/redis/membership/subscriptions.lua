--- @include "../connection/prelude.lua"

-- `isSubscribed(serviceType)`: if events of the type are kept for the service. `subscribe(serviceType, route)` begins
-- that.

local function isSubscribed(serviceType)
  return call('HEXISTS', key('routes', typeOf(serviceType)), serviceType) == 1
end

local function subscribe(serviceType, route)
  local service = serviceOf(serviceType)
  call('HSET', key('routes', typeOf(serviceType)), serviceType, cjson.encode(route))
  call('SADD', key('subscribed', service), serviceType)
  call('SADD', key('services'), service)
end
