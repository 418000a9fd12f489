import { LuaFragment } from './lua-fragment.js';
import { prelude } from './prelude.js';

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
