import { typeStates } from '../gate/type-states.js';
import { orderSpan } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/**
 * `oldestPending(serviceType, oldestActive)` returns the time of acceptance of the oldest event that is active, waits,
 * or is the first one of the delayed ones. `oldestActive` is the one of `activeJobs`.
 */
export const oldestPending: LuaFragment = new LuaFragment(
  `
local function oldestPending(serviceType, oldestActive)
  local oldest = oldestActive
  local function look(id)
    local queue = id and jobQueue(serviceType, id)
    local at = queue and tonumber(call('HGET', queue .. id, 'timestamp'))
    if at and (not oldest or at < oldest) then oldest = at end
  end
  local gate = key('gate', serviceType)
  local id, order = unpack(call('ZRANGE', gate, 0, 0, 'WITHSCORES'))
  while id do
    look(id)
    -- Within a priority the first one is the oldest.
    local nextPriority = (math.floor(order / ${orderSpan}) + 1) * ${orderSpan}
    id, order = unpack(call('ZRANGEBYSCORE', gate, string.format('%.0f', nextPriority), '+inf', 'WITHSCORES', 'LIMIT', 0, 1))
  end
  look(call('ZRANGE', key('delayed', serviceType), 0, 0)[1])
  return oldest
end
`,
  [prelude, typeStates],
);
