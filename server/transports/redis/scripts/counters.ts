import { durationGrowth, shortestMs } from '../../statistics/duration-sketch.js';
import { workflowType } from '../../workflow-type.js';
import { eventLog } from '../lookup/event-log.js';
import { encodeName } from '../names.js';
import { LuaFragment } from './lua-fragment.js';
import { periodRoll } from './period-roll.js';
import { prelude } from './prelude.js';
import { serviceTypes } from './service-types.js';

// Runs of workflows are not part of the total.
const workflowPrefix = encodeName(workflowType(''));

/** Names of the counters of a service type. */
export const counterNames: readonly string[] = [
  'received',
  'completed',
  'failed',
  'cancelled',
  'retried',
  'deduplicated',
];

/** Returns names as a Lua expression. */
function luaList(names: readonly string[]): string {
  return `{ ${names.map((name) => `'${name}'`).join(', ')} }`;
}

/**
 * Counters: `changesOf(serviceType)` gathers them while a script runs, `writeChanges()` writes them once at its end.
 * `countWait(changed, ms)` adds a waiting time. `touch(serviceType)` changes the revision of a type whose counters stay as
 * they are: its sum with the counters tells if anything has changed.
 *
 * The open minute of a type is a hash of counters whose names begin with the minute: `r` received, `c` completed, `f`
 * failed, `x` cancelled, `t` retried, `w<bucket>` and `d<bucket>` waiting times and durations. `e<bucket>` is both `c`
 * and `d<bucket>`: most outcomes need one write so. The hash of `totalType` counts the events of all types.
 */
export const counters: LuaFragment = new LuaFragment(
  `
local changes
local function changesOf(serviceType)
  if changes[serviceType] == nil then
    changes[serviceType] = { received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0, deduplicated = 0, buckets = {}, waits = {} }
  end
  return changes[serviceType]
end

local function countWait(changed, ms)
  local bucket = math.ceil(math.log(math.max(ms, ${shortestMs})) / ${Math.log(durationGrowth)})
  changed.waits[bucket] = (changed.waits[bucket] or 0) + 1
end

local function touch(serviceType)
  if call('HINCRBY', key('stats', serviceType), 'revision', 1) == 1 then
    addServiceType(serviceType)
  end
end

local function addTo(counts, name, by)
  if by > 0 then counts[name] = (counts[name] or 0) + by end
end

local function addPeriod(counts, changed)
  addTo(counts, 'r', changed.received)
  local attempts = 0
  for _, by in pairs(changed.buckets) do attempts = attempts + by end
  local areCompleted = attempts == changed.completed and changed.failed + changed.retried == 0
  for bucket, by in pairs(changed.buckets) do addTo(counts, (areCompleted and 'e' or 'd') .. bucket, by) end
  if not areCompleted then addTo(counts, 'c', changed.completed) end
  addTo(counts, 'f', changed.failed)
  addTo(counts, 'x', changed.cancelled)
  addTo(counts, 't', changed.retried)
  for bucket, by in pairs(changed.waits) do addTo(counts, 'w' .. bucket, by) end
end

local function writeMinute(type, counts)
  local open = key('minute', type)
  local mayRoll = false
  for name, by in pairs(counts) do
    if call('HINCRBY', open, minute .. name, by) == by then mayRoll = true end
  end
  -- The first count of a name may be the first one of a minute.
  if mayRoll then rollMinutes(type) end
end

local counterNames = ${luaList(counterNames)}
local function writeChanges()
  if next(changes) == nil then return end
  call('INCR', key('revision'))
  local periods, total = {}, {}
  for serviceType, changed in pairs(changes) do
    local stats = key('stats', serviceType)
    local isCounted, isNew = false, false
    for _, name in ipairs(counterNames) do
      if changed[name] > 0 then
        isCounted = true
        if call('HINCRBY', stats, name, changed[name]) == changed[name] then isNew = true end
      end
    end
    -- A type is new with the first count of any name.
    if isNew or not isCounted then touch(serviceType) end
    if changed.received > 0 then call('HSET', stats, 'lastReceivedAt', now) end
    if changed.failed > changed.cancelled then call('HSET', stats, 'lastFailedAt', now) end
    local type = typeOf(serviceType)
    periods[type] = periods[type] or {}
    addPeriod(periods[type], changed)
    if string.sub(type, 1, ${workflowPrefix.length}) ~= '${workflowPrefix}' then addPeriod(total, changed) end
  end
  for type, counts in pairs(periods) do writeMinute(type, counts) end
  writeMinute(totalType, total)
  writeLog()
end
`,
  [eventLog, prelude, periodRoll, serviceTypes],
  'changes = {}',
);
