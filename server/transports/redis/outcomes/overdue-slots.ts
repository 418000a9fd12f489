import { gates } from '../gate/gates.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

/**
 * Slots of handlers that run on after their outcome. They count as taken until the handler returns, or its process is
 * dead. `keepSlot(serviceType, token, id, starts)` begins that, `dropSlots(serviceType, process)` ends it for a dead process.
 */
export const overdueSlots: LuaFragment = new LuaFragment(
  `
-- A worker uses a token again.
local function overdueLease(token, id, starts)
  return table.concat({ token, id, starts }, ' ')
end

local function keepSlot(serviceType, token, id, starts)
  call('SADD', key('overdue', serviceType), overdueLease(token, id, starts))
end

local function dropSlots(serviceType, process)
  local overdue = key('overdue', serviceType)
  for _, lease in ipairs(call('SMEMBERS', overdue)) do
    if processOf(lease) == process then call('SREM', overdue, lease) end
  end
end
`,
  [prelude],
);

export const freeSlotScript: Script = new Script({
  purpose: 'Frees the slot of a handler that ran on after its outcome.',
  argv: 'lease',
  reply: 'nothing',
  includes: [prelude, gates, overdueSlots],
  lua: `
local _, id, token, starts, serviceType = take(), take(), take(), take(), take()
if call('SREM', key('overdue', serviceType), overdueLease(token, id, starts)) == 0 then return end
countReturned(serviceType)
arrangeTypes()
`,
});
