--- @include "../connection/prelude.lua"

-- `isSubscribed(serviceType)`: if events of the type are kept for the service. `subscribe(serviceType, route)` begins
-- that, and retains the descriptions of the service's processes, as retained-descriptions.lua says.

local function isSubscribed(serviceType)
  return call('HEXISTS', key('routes', typeOf(serviceType)), serviceType) == 1
end

local function subscribe(serviceType, route)
  local service = serviceOf(serviceType)
  call('HSET', key('routes', typeOf(serviceType)), serviceType, cjson.encode(route))
  call('SADD', key('subscribed', service), serviceType)
  if call('SADD', key('services'), service) == 0 then return end
  local descriptions = key('last-descriptions', service)
  call('PERSIST', descriptions)
  for _, hash in ipairs(call('ZRANGE', descriptions, 0, -1)) do call('PERSIST', key('description', hash)) end
end
