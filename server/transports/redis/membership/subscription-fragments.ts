import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/** `isSubscribed(serviceType)`: if events of the type are queued for the service. */
export const subscribed: LuaFragment = new LuaFragment(
  `
local function isSubscribed(serviceType)
  return call('HEXISTS', key('routes', typeOf(serviceType)), serviceType) == 1
end
`,
  [prelude],
);

/** `hasLiveHandler(serviceType)`: if a live process handles a service type. Forgets dead ones. */
export const liveHandlers: LuaFragment = new LuaFragment(
  `
local function hasLiveHandler(serviceType)
  local handlers = key('handlers', serviceType)
  for _, process in ipairs(call('SMEMBERS', handlers)) do
    if call('EXISTS', key('process', process)) == 1 then return true end
    call('SREM', handlers, process)
  end
  return false
end
`,
  [prelude],
);
