import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/**
 * Deduplication ids. One is remembered for its window, and until its event has ended in every service.
 * `forgetDedupe(dedupe)` ends the memory, or lets it end with the window; `endDedupe(job)` counts an end.
 */
export const dedupe: LuaFragment = new LuaFragment(
  `
local function forgetDedupe(dedupe)
  local untilMs = tonumber(call('HGET', dedupe, 'until'))
  if untilMs > now then call('PEXPIREAT', dedupe, untilMs) else call('DEL', dedupe) end
end

local function endDedupe(job)
  local dedupe = call('HGET', job, 'dedupe')
  if not dedupe or call('EXISTS', dedupe) == 0 then return end
  if call('HINCRBY', dedupe, 'pending', -1) <= 0 then forgetDedupe(dedupe) end
end
`,
  [prelude],
);
