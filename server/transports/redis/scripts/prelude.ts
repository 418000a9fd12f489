import { keys } from './keys.js';
import { LuaFragment } from './lua-fragment.js';

/**
 * Basis of all scripts: keys, the time, and `take` and `takeNumber`, which read the arguments in their order. The time
 * is the server's, so that processes whose clocks differ agree.
 */
export const prelude: LuaFragment = new LuaFragment(
  `
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local position = 0
local function take()
  position = position + 1
  return ARGV[position]
end
local function takeNumber()
  return tonumber(take())
end

local function serviceOf(serviceType)
  return string.match(serviceType, '^[^/]*')
end
-- Tokens of leases start with the id of the process.
local function processOf(token)
  return string.match(token, '^[^.]*')
end
local function typeOf(serviceType)
  return string.match(serviceType, '/(.*)$')
end
`,
  [keys],
);
