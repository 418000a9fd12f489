import { periodKinds, periodOf, type RangePeriods, rangePeriods, rangeTimes } from '../../statistics/periods.js';
import type { RangeCounts, TotalActivity, TypeActivity } from '../../statistics/stats.js';
import { countRecords } from '../counting/count-records.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readHash, readNumber, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { readFailure } from './failures.js';
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
export function readPeriods(now: number, reply: unknown): StoredPeriods {
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

export const rangeScript: Script = new Script({
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
export function readRange(from: number, to: number, reply: unknown): RangeCounts {
  const [nowValue, ...types] = readArray(reply);
  const now = readNumber(nowValue);
  const periods: RangePeriods = rangePeriods(from, to, now);
  return { ...rangeTimes(periods), counts: types.map((type) => readPeriods(now, type).range(periods)) };
}
