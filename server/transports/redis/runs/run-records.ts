import { orderSpan } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/** `addRun(serviceType, id, queue, sequence, run)` stores a new run with its `data`, `shown`, `acceptedAt` and `attempt`. */
export const runRecords: LuaFragment = new LuaFragment(
  `
local function addRun(serviceType, id, queue, sequence, run)
  call('HSET', key('run', serviceType, id), 'data', run.data, 'shown', run.shown, 'acceptedAt', run.acceptedAt,
    'attempt', run.attempt, 'queue', queue)
  call('ZADD', key('runs', serviceType), sequence, id)
end
`,
  [prelude],
);

/**
 * `ensureRun(queue, id, serviceType)` stores the run of a job that was accepted before its type kept runs.
 */
export const lateRuns: LuaFragment = new LuaFragment(
  `
-- The body is a text in JSON, which Lua does not decode if it has half of a surrogate pair.
local function withoutBody(data)
  local _, bodyStart = string.find(data, ',"body":"', 1, true)
  local from = bodyStart and bodyStart + 1
  while from do
    local stop = string.find(data, '["\\\\]', from)
    if not stop then break end
    if string.sub(data, stop, stop) == '"' then return string.sub(data, 1, bodyStart) .. 'null' .. string.sub(data, stop) end
    from = stop + 2
  end
  return data
end

local function ensureRun(queue, id, serviceType)
  if call('EXISTS', key('run', serviceType, id)) == 1 then return end
  local data, acceptedAt, attempts, order = unpack(call('HMGET', queue .. id, 'data', 'timestamp', 'atm', 'order'))
  -- The event has ended, or another worker has it.
  if not data or not order then return end
  addRun(serviceType, id, queue, order % ${orderSpan}, {
    data = data, shown = withoutBody(data), acceptedAt = acceptedAt or now, attempt = (attempts or 0) + 1,
  })
end
`,
  [runRecords],
);
