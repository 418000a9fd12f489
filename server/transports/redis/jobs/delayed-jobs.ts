import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/** `delayedJobs(serviceType)` returns the number of jobs that wait for their delay or the delay of a retry. */
export const delayedJobs: LuaFragment = new LuaFragment(
  `
local function delayedJobs(serviceType)
  -- Without a worker those whose delay has ended stay in the set.
  return call('ZCOUNT', key('delayed', serviceType), '(' .. now, '+inf')
end
`,
  [prelude],
);
