import { counters } from '../scripts/counters.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { acceptance } from './acceptance.js';
import { dedupe } from './dedupe.js';

/**
 * `publishOne()` accepts the event that `publishArguments` wrote, or counts it as deduplicated. Returns the id of the
 * earlier event if it is a duplicate or was debounced, a dash if no service subscribes to its type, else an empty string.
 */
export const publishOne: LuaFragment = new LuaFragment(
  `
local function countDuplicate(envelope)
  local isHandled = false
  for _, route in ipairs(routesOf(envelope.type)) do
    if not route.idSuffix then
      isHandled = true
      local changed = changesOf(route.serviceType)
      changed.deduplicated = changed.deduplicated + 1
    end
  end
  if isHandled then return end
  local changed = changesOf(envelope.sender)
  changed.deduplicated = changed.deduplicated + 1
end

local function publishOne()
  local envelope = takeEnvelope()
  local dedupeId, windowMs = take(), takeNumber()
  local dedupe = key('dedupe', envelope.type, dedupeId)
  local earlier = dedupeId ~= '' and call('HGET', dedupe, 'id')
  if earlier then
    countDuplicate(envelope)
    return earlier
  end
  if dedupeId ~= '' then
    envelope.dedupe = dedupe
    call('HSET', dedupe, 'id', envelope.id, 'until', now + math.ceil(windowMs), 'pending', 0)
  end
  local isSubscribed, waiting = accept(envelope)
  if dedupeId ~= '' and call('HGET', dedupe, 'pending') == '0' then forgetDedupe(dedupe) end
  return waiting or isSubscribed and '' or '-'
end
`,
  [acceptance, counters, dedupe],
);
