import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

// A run that was evicted while a process waits for its end stays readable for so long, and for so long after the last of
// these processes has read it, in case that its reply is lost.
const awaitedMs = 10 * 60_000;
const repeatableMs = 60_000;

/**
 * Retention of runs: `evictRun(serviceType, id)` deletes a run, or has it expire if a process still waits for its end,
 * `addWaiter(...)` and `removeWaiter(...)` register these processes, `wakeWaiters(serviceType, id)` notifies them.
 */
export const runRetention: LuaFragment = new LuaFragment(
  `
local function runKeys(serviceType, id)
  local run = key('run', serviceType, id)
  return { run, run .. ':checkpoints', run .. ':outputs', run .. ':waiters' }
end

local function expireRun(serviceType, id, ms)
  for _, name in ipairs(runKeys(serviceType, id)) do call('PEXPIRE', name, ms) end
end

local function evictRun(serviceType, id)
  if call('EXISTS', key('run', serviceType, id, 'waiters')) == 1 then
    expireRun(serviceType, id, ${awaitedMs})
  else
    call('DEL', unpack(runKeys(serviceType, id)))
  end
  call('ZREM', key('runs', serviceType), id)
end

local function addWaiter(serviceType, id, process)
  call('SADD', key('run', serviceType, id, 'waiters'), process)
end

local function removeWaiter(serviceType, id, process)
  local waiters = key('run', serviceType, id, 'waiters')
  if call('SREM', waiters, process) == 0 or call('EXISTS', waiters) == 1 then return end
  if call('PTTL', key('run', serviceType, id)) > 0 then expireRun(serviceType, id, ${repeatableMs}) end
end

local function notify(process, message)
  call('PUBLISH', key('run-ends', process), cjson.encode(message))
end

local function wakeWaiters(serviceType, id)
  for _, process in ipairs(call('SMEMBERS', key('run', serviceType, id, 'waiters'))) do
    notify(process, { serviceType = serviceType, id = id })
  end
end
`,
  [prelude],
);
