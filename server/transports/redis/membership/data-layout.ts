import { UnexpectedDataError } from '../redis-errors.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/** Version of the layout of all keys. It grows with each change that earlier versions of Hubline cannot read. */
export const dataLayout = 2;

/** `hasOtherLayout()` returns `true` if Redis has data in another layout. */
export const otherLayout: LuaFragment = new LuaFragment(
  `
local function hasOtherLayout()
  local layout = call('GET', key('layout'))
  if layout then return layout ~= '${dataLayout}' end
  -- Builds before the first layout with a number wrote none.
  return call('EXISTS', key('queues'), key('services')) > 0
end
`,
  [prelude],
);

/** Returns the error for data in another layout. */
export function otherLayoutError(): UnexpectedDataError {
  return new UnexpectedDataError(
    `the prefix has data in another layout than ${dataLayout}: docs/upgrading.md describes the upgrade from earlier builds`,
  );
}
