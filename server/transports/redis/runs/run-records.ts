import { keptCompletedRuns, keptFailedRuns } from '../../limits.js';
import { prelude } from '../connection/keys.js';
import { LuaFragment } from '../connection/script.js';
import { orderSpan } from '../connection/script-limits.js';
import { eventLog } from '../jobs/event-log.js';
import { suspendedRuns } from './suspended-runs.js';

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

// A run that was evicted while a process waits for its end stays readable for so long, and for so long after the last of
// these processes has read it, in case that its reply is lost.
const awaitedMs = 10 * 60_000;
const repeatableMs = 60_000;
// The end of a run stays readable for so long after the run was accepted, because it can end before the process that
// started it has the chance to ask for its result, and after a process that waited for it has read it.
const recentMs = 10_000;
// A lowered limit leaves many to evict: each end evicts some, because nothing else runs meanwhile.
const maxEvictedRuns = 100;

/**
 * Retention of runs: `retainRun(serviceType, id, status)` retains a run that has ended as long as its type says, and
 * evicts others. The end of one that a process waits for stays readable until it has read it, and the end of one that was
 * accepted or read just now for those who are about to wait, or to read it again. `addWaiter(...)` and
 * `removeWaiter(...)` register these processes, `wakeWaiters(serviceType, id)` notifies them.
 */
export const runRetention: LuaFragment = new LuaFragment(
  `
local function runKeys(serviceType, id)
  local run = key('run', serviceType, id)
  return { run, run .. ':order', run .. ':checkpoints', run .. ':outputs', run .. ':waiters' }
end

local function expireRun(serviceType, id, ms)
  for _, name in ipairs(runKeys(serviceType, id)) do call('PEXPIRE', name, ms) end
end

-- Those who wait for the run, are about to, or have read it just now, can read its end for so long.
local function awaitableMs(serviceType, id, acceptedAt, readAt)
  if call('EXISTS', key('run', serviceType, id, 'waiters')) == 1 then return ${awaitedMs} end
  return math.max(math.max(tonumber(acceptedAt) or 0, tonumber(readAt) or 0) + ${recentMs} - now, 0)
end

local function evictRun(serviceType, id)
  local run = key('run', serviceType, id)
  local shown, acceptedAt, readAt = unpack(call('HMGET', run, 'shown', 'acceptedAt', 'readAt'))
  if shown and not hasDeadLetter(serviceType, id) then unindexEvent(serviceType, id, requestIdIn(shown)) end
  local ms = shown and awaitableMs(serviceType, id, acceptedAt, readAt) or 0
  if ms > 0 then
    call('HSET', run, 'until', now)
    call('HDEL', run, 'data')
    call('DEL', run .. ':outputs')
    expireRun(serviceType, id, ms)
  else
    call('DEL', unpack(runKeys(serviceType, id)))
  end
  call('ZREM', key('runs', serviceType), id)
end

-- Redis deletes a run at the end of its age. Its id stays until the next run of its type ends.
local function limitAge(serviceType, id, keepMs)
  local untilMs = now + keepMs
  local shown, acceptedAt = unpack(call('HMGET', key('run', serviceType, id), 'shown', 'acceptedAt'))
  call('HSET', key('run', serviceType, id), 'until', untilMs)
  endIndexingAt(serviceType, id, requestIdIn(shown), untilMs)
  expireRun(serviceType, id, math.max(keepMs, awaitableMs(serviceType, id, acceptedAt)))
end

local function isExpired(serviceType, id)
  local untilMs = tonumber(call('HGET', key('run', serviceType, id), 'until'))
  return untilMs and untilMs <= now or not untilMs and not hasRun(serviceType, id)
end

local function retainRun(serviceType, id, status)
  local limits = call('HMGET', key('dispatch', serviceType), 'keepCompleted', 'keepFailed', 'keepMs')
  local limit = tonumber(limits[1]) or ${keptCompletedRuns}
  if status == 'failed' then limit = tonumber(limits[2]) or ${keptFailedRuns} end
  if limits[3] then limitAge(serviceType, id, tonumber(limits[3])) end
  endIndexing(serviceType)
  local ended = key('ended', serviceType, status)
  call('LPUSH', ended, id)
  local excess = call('LLEN', ended) - limit
  for _ = 1, ${maxEvictedRuns} do
    local oldest = call('LINDEX', ended, -1)
    if not oldest or excess <= 0 and not isExpired(serviceType, oldest) then return end
    call('RPOP', ended)
    evictRun(serviceType, oldest)
    excess = excess - 1
  end
end

local function addWaiter(serviceType, id, process)
  call('SADD', key('run', serviceType, id, 'waiters'), process)
end

local function removeWaiter(serviceType, id, process)
  local waiters = key('run', serviceType, id, 'waiters')
  if call('SREM', waiters, process) == 0 or call('EXISTS', waiters) == 1 then return end
  local run = key('run', serviceType, id)
  local leftMs = call('PTTL', run)
  if leftMs == -2 then return end
  call('HSET', run, 'readAt', now)
  if leftMs == -1 then return end
  local untilMs = tonumber(call('HGET', run, 'until') or now)
  expireRun(serviceType, id, math.max(untilMs - now, ${repeatableMs}))
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
  [eventLog, prelude, suspendedRuns],
);

/**
 * Recorded entries of a run, in the order of recording.
 *
 * - `appendEntry(serviceType, id, name, starts, shown, output)` appends one, divided as `splitCheckpoint` divides it;
 *   `starts` names the lease that recorded it, 0 the transport
 * - `announceChange(serviceType, id)` notifies those that watch the run
 * - `entriesSince(serviceType, id, from, starts)` returns name and value of those from a position on, in turns. The
 *   lease `starts` knows its own values: it receives `false` in their place
 */
export const runEntries: LuaFragment = new LuaFragment(
  `
-- Without the permission nobody can watch the run, and the run goes on.
local function announceChange(serviceType, id)
  redis.pcall('PUBLISH', key('run-changes', serviceType, id), '')
end

local function appendEntry(serviceType, id, name, starts, shown, output)
  local run = key('run', serviceType, id)
  -- The output comes first: Redis with no memory left rejects a script's first write only, and undoes none.
  if output ~= '' then call('HSET', run .. ':outputs', name, output) end
  local order = call('RPUSH', run .. ':order', name) - 1
  call('HSET', run .. ':checkpoints', name, order .. ' ' .. starts .. ' ' .. shown)
  announceChange(serviceType, id)
end

local function entriesSince(serviceType, id, from, starts)
  local run = key('run', serviceType, id)
  local entries = {}
  for _, name in ipairs(call('LRANGE', run .. ':order', from, -1)) do
    local recordedBy, shown = string.match(call('HGET', run .. ':checkpoints', name), '^%d+ (%d+) (.*)$')
    local value = false
    if recordedBy ~= starts then
      local output = call('HGET', run .. ':outputs', name)
      value = output and string.sub(shown, 1, -6) .. output or shown
    end
    entries[#entries + 1] = name
    entries[#entries + 1] = value
  end
  return entries
end
`,
  [prelude, runRetention],
);
