import { keptFailures } from '../../limits.js';
import { DurationTotals } from '../../statistics/durations.js';
import { periodKinds, periodOf, type RangePeriods, rangePeriods, rangeTimes } from '../../statistics/periods.js';
import type {
  EventMetrics,
  FailureRecord,
  RangeCounts,
  TotalActivity,
  TypeActivity,
  TypeDurations,
} from '../../statistics/stats.js';
import type { CountReader } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { prelude } from '../connection/keys.js';
import { readArray, readHash, readNumber, readString, unexpected } from '../connection/reply.js';
import { LuaFragment, Script } from '../connection/script.js';
import { decodeError } from '../jobs/event-codec.js';
import { encodeName, eventIdOf, typeList } from '../names.js';
import { countRecords, serviceTypes } from './count-records.js';
import { counts, countsScript, readCounts, revisionScript } from './counts.js';
import type { RecentActivities } from './recent-activities.js';
import { StoredPeriods } from './stored-periods.js';

/**
 * `readTotal(sums)` returns the last minutes and the history of all event types, `readPeriods(type, sums)` those of one.
 * `readActivity(types, failing, sums)` returns the last minutes of each type, and lists of the number of a type and the
 * last failures of its service types in `failing`. The last minutes are those that are not in the history yet, and
 * `trends`. `sums` are those of `unfoldedSums`.
 *
 * Lua takes longer to join the texts of a thousand types than Redis and its client take for lists of them.
 */
export const activity: LuaFragment = new LuaFragment(
  `
local function readLastMinutes(types, sums)
  return readMinutes(types, sums), readFields(key('trends'), types)
end

local function readPeriods(type, sums)
  local open, trends = readLastMinutes({ type }, sums)
  return { open[1], trends[1], call('HGETALL', key('history', type)) }
end

local function readTotal(sums)
  return { now, readPeriods(totalType, sums) }
end

local function readActivity(types, failing, sums)
  local open, trends = readLastMinutes(types, sums)
  local failures = {}
  for index, type in ipairs(next(failing) and types or {}) do
    if failing[type] then
      local ofType = { index }
      for _, serviceType in ipairs(failing[type]) do
        ofType[#ofType + 1] = call('LINDEX', key('failures', serviceType), 0) or nil
      end
      failures[#failures + 1] = ofType
    end
  end
  return { open, trends, failures }
end
`,
  [countRecords, prelude],
);

/** Returns the reply of `readTotal`. */
export function readTotal(reply: unknown): TotalActivity & { readonly now: number } {
  const [nowValue, periods] = readArray(reply);
  const now = readNumber(nowValue);
  const stored = readPeriods(now, periods);
  return { now, recent: stored.recent(), histories: stored.histories() };
}

/** Returns the last minutes and the history of a type. */
function readPeriods(now: number, reply: unknown): StoredPeriods {
  const [open, trend, history] = readArray(reply);
  return new StoredPeriods(now, { open: readText(open), trend: readText(trend) }, readHash(history));
}

/**
 * Returns the reply of `readActivity`.
 *
 * @param activities those of earlier replies for the same types
 */
export function readActivity(now: number, reply: unknown, activities: RecentActivities): TypeActivity[] {
  const [opens, trends, failures] = readArray(reply);
  const minute = periodOf(now, periodKinds.minutes);
  const recent = activities.read(minute, readArray(opens).map(readText), readArray(trends).map(readText));
  const found: Writable<TypeActivity>[] = recent.map((each) => ({ recent: each }));
  for (const ofType of readArray(failures)) {
    const [number, ...entries] = readArray(ofType);
    const activity = found[readNumber(number) - 1];
    const [lastFailure] = entries.map(readFailure).sort((a, b) => b.at - a.at);
    if (activity !== undefined && lastFailure !== undefined) activity.lastFailure = lastFailure;
  }
  return found;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Returns a text; an empty one for a field that a hash does not have. */
function readText(value: unknown): string {
  return value === null ? '' : readString(value);
}

const rangeScript: Script = new Script({
  name: 'range',
  access: 'reads',
  purpose: 'Reads the histories of many types.',
  argv: 'types, separated by commas',
  reply: 'the time, then the last minutes and the history of each type',
  includes: [prelude, activity, countRecords],
  lua: `
local reply, sums = { now }, unfoldedSums()
for type in string.gmatch(take(), '[^,]+') do reply[#reply + 1] = readPeriods(type, sums) end
return reply
`,
});

/** Returns the reply of {@link rangeScript} as counts between two times. */
function readRange(from: number, to: number, reply: unknown): RangeCounts {
  const [nowValue, ...types] = readArray(reply);
  const now = readNumber(nowValue);
  const periods: RangePeriods = rangePeriods(from, to, now);
  return { ...rangeTimes(periods), counts: types.map((type) => readPeriods(now, type).range(periods)) };
}

const metricsScript: Script = new Script({
  name: 'metrics',
  access: 'reads',
  purpose: 'Reads the counts and the history of a type.',
  argv: 'type',
  reply: 'the time, the lists of readCounts, the last minutes and the history',
  includes: [prelude, activity, countRecords, counts],
  lua: `
local sums = unfoldedSums()
return { now, (readCounts(sums)), readPeriods(ARGV[1], sums) }
`,
});

/** Returns the reply of {@link metricsScript}. */
function readMetrics(type: string, reply: unknown): EventMetrics {
  const [nowValue, typeCounts, periods] = readArray(reply);
  const [found] = readCounts(typeCounts);
  if (found === undefined) throw unexpected('the counts of the type', typeCounts);
  const stored = readPeriods(readNumber(nowValue), periods);
  return {
    type,
    ...found.total,
    recent: stored.recent(),
    waitMs: stored.waits(),
    durationMs: stored.durations(),
    histories: stored.histories(),
  };
}

const durationsScript: Script = new Script({
  name: 'durations',
  access: 'reads',
  purpose: 'Reads the durations of many types.',
  argv: 'types, separated by commas',
  reply: 'of each type the minutes that are not in its history yet, and the durations of those that are',
  includes: [prelude, countRecords],
  lua: `
local types, reply = {}, {}
for type in string.gmatch(take(), '[^,]+') do types[#types + 1] = type end
local minutes = readMinutes(types, unfoldedSums())
for index, type in ipairs(types) do
  reply[index] = { minutes[index] or '', call('HGET', key('history', type), 'durations') or '' }
end
return reply
`,
});

/** Returns the reply of {@link durationsScript}. */
function readDurations(reply: unknown): TypeDurations[] {
  return readArray(reply).map((entry) => {
    const [open, over] = readArray(entry);
    const [wait, duration] = [new DurationTotals(), new DurationTotals()];
    const add = (name: string, count: string): void => {
      const [, kind, bucket] = /^([wde])(-?\d+)$/.exec(name) ?? [];
      if (kind !== undefined) (kind === 'w' ? wait : duration).add(Number(bucket), Number(count));
    };
    for (const part of `${readString(open)} ${readString(over)}`.split(/\s/)) {
      const [name = '', count = '0'] = part.split('=');
      add(name, count);
    }
    return { waitMs: wait.read(), durationMs: duration.read() };
  });
}

const failuresScript: Script = new Script({
  name: 'failures',
  access: 'reads',
  purpose: 'Reads the latest failures of a type.',
  argv: 'type',
  reply: 'for each service type its failures as JSON, newest first',
  includes: [prelude, serviceTypes],
  lua: `
local reply = {}
for index, serviceType in ipairs(serviceTypesOf(take())) do
  reply[index] = call('LRANGE', key('failures', serviceType), 0, -1)
end
return reply
`,
});

/** Returns the reply of {@link failuresScript}: the newest failures of all services, newest first. */
function readFailures(reply: unknown): FailureRecord[] {
  return readArray(reply)
    .flatMap((list) => readArray(list).map(readFailure))
    .sort((a, b) => b.at - a.at)
    .slice(0, keptFailures);
}

/** Returns a failure as a script stored it. */
function readFailure(entry: unknown): FailureRecord {
  const { id, at, attempt, requestId, step, error } = Object(JSON.parse(readString(entry))) as Record<string, unknown>;
  const { name, message } = decodeError(readString(error));
  return {
    id: eventIdOf(readString(id)),
    at: readNumber(at),
    attempt: readNumber(attempt),
    ...(requestId !== undefined && { requestId: readString(JSON.parse(readString(requestId))) }),
    ...(step !== undefined && { step: readString(step) }),
    name,
    message,
  };
}

/** Returns the counts of all services on Redis. */
export function redisCounts(commands: CommandClient): CountReader {
  return {
    get: async (types) => readCounts(await commands.runScript(countsScript, [typeList(types)])),
    metrics: async (type) => readMetrics(type, await commands.runScript(metricsScript, [encodeName(type)])),
    range: async (types, from, to) => readRange(from, to, await commands.runScript(rangeScript, [typeList(types)])),
    durations: async (types) => readDurations(await commands.runScript(durationsScript, [typeList(types)])),
    failures: async (type) => readFailures(await commands.runScript(failuresScript, [encodeName(type)])),
    async revision(type) {
      return readString(await commands.runScript(revisionScript, type === undefined ? [] : [encodeName(type)]));
    },
  };
}
