import { prelude } from '../connection/keys.js';
import { LuaFragment } from '../connection/script.js';

/**
 * `isSubscribed(serviceType)`: if events of the type are kept for the service. `subscribe(serviceType, route)` begins
 * that.
 */
export const subscribed: LuaFragment = new LuaFragment(
  `
local function isSubscribed(serviceType)
  return call('HEXISTS', key('routes', typeOf(serviceType)), serviceType) == 1
end

local function subscribe(serviceType, route)
  local service = serviceOf(serviceType)
  call('HSET', key('routes', typeOf(serviceType)), serviceType, cjson.encode(route))
  call('SADD', key('subscribed', service), serviceType)
  call('SADD', key('services'), service)
end
`,
  [prelude],
);

/** `isLive(process)` and `hasLiveHandler(serviceType)`: if a live process handles a service type. */
export const liveHandlers: LuaFragment = new LuaFragment(
  `
local lives
local function isLive(process)
  if lives[process] == nil then lives[process] = call('EXISTS', key('process', process)) == 1 end
  return lives[process]
end

local function hasLiveHandler(serviceType)
  for _, process in ipairs(call('HKEYS', key('handlers', serviceType))) do
    if isLive(process) then return true end
  end
  return false
end
`,
  [prelude],
  'lives = {}',
);
