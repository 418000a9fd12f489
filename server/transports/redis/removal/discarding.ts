import { type ErrorInfo, errorInfo } from '../../../errors.js';
import { RetiredError } from '../../errors.js';
import { attemptEnds } from '../outcomes/attempt-ends.js';
import { LuaFragment } from '../scripts/lua-fragment.js';

const failure: ErrorInfo = errorInfo(new RetiredError());

/** `discard(queue, id)` fails a job of a service type that was retired. */
export const discarding: LuaFragment = new LuaFragment(
  `
local function discard(queue, id)
  local serviceType, attempts = unpack(call('HMGET', queue .. id, 'serviceType', 'atm'))
  withdraw(queue, id, serviceType)
  local keepsRuns = call('EXISTS', key('run', serviceType, id)) == 1
  local outcome = { status = 'failed', attempt = (attempts or 0) + 1, value = [=[${JSON.stringify(failure)}]=] }
  endJob(queue, id, serviceType, keepsRuns, outcome)
end
`,
  [attemptEnds],
);
