import { LuaFragment } from './lua-fragment.js';
import { prelude } from './prelude.js';

/** `activeJobs()` returns the number of leased jobs per service type, and a string that changes with the leases. */
export const activeJobs: LuaFragment = new LuaFragment(
  `
local function activeJobs()
  local active, leased = {}, {}
  for _, name in ipairs(call('SMEMBERS', key('queues'))) do
    local queue = queueKey(name)
    local ids = call('LRANGE', queue .. 'active', 0, -1)
    for _, id in ipairs(ids) do
      local serviceType = call('HGET', queue .. id, 'serviceType')
      if serviceType then active[serviceType] = (active[serviceType] or 0) + 1 end
    end
    if #ids > 0 then leased[#leased + 1] = name .. ':' .. table.concat(ids, ',') end
  end
  table.sort(leased)
  return active, table.concat(leased, ';')
end
`,
  [prelude],
);
