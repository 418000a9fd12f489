import { counters } from '../counting/counters.js';
import { gates } from '../gate/gates.js';
import { LuaFragment } from '../scripts/lua-fragment.js';

/**
 * Debounce windows: the event of a window is delayed until no other one of its key arrives. Its job notes the key in
 * `window` until it is due or removed.
 *
 * - `windowEnd(route, delayMs, openedAt)` returns the time at which a window closes
 * - `openWindow(route, lineKey, job, id)` opens one for a stored job
 * - `findWindow(route, lineKey)` returns the event in the window of a key, the prefix of its queue, and the time at
 *   which the window opened; nothing if there is none
 */
export const debounceWindows: LuaFragment = new LuaFragment(
  `
local function windowEnd(route, delayMs, openedAt)
  local ms, maxMs = route.debounce.ms, route.debounce.maxMs
  local closesAt = now + math.max(ms, delayMs)
  return maxMs and math.min(closesAt, openedAt + maxMs) or closesAt
end

local function openWindow(route, lineKey, job, id)
  call('HSET', job, 'window', lineKey)
  call('HSET', key('windows', route.serviceType), lineKey, string.format('%.0f %s', now, id))
end

local function findWindow(route, lineKey)
  local windows = key('windows', route.serviceType)
  local window = call('HGET', windows, lineKey)
  if not window then return nil end
  local openedAt, id = string.match(window, '^(%d+) (.*)$')
  local queue = jobQueue(route.serviceType, id)
  if queue and call('ZSCORE', key('delayed', route.serviceType), id) then return id, queue, tonumber(openedAt) end
  call('HDEL', windows, lineKey)
  return nil
end
`,
  [counters, gates],
);
