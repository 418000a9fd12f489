import type { RangePeriods } from '../../statistics/periods.js';
import { periodKinds, periodOf, rangePeriods, rangeTimes } from '../../statistics/periods.js';
import type { RangeCounts, RecentActivity, TotalActivity, TypeActivity } from '../../statistics/stats.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { periodRoll } from '../scripts/period-roll.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readHash, readNumber, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { readFailure } from './failures.js';
import type { LastRead } from './last-read.js';
import { StoredPeriods } from './stored-periods.js';

/**
 * `readTotal()` returns the open minute and the history of all event types. `readActivity(types, failing)` returns the
 * last minutes of each type, as text with tabs between fields and values, and the last failures of its service types in
 * `failing`.
 */
export const activity: LuaFragment = new LuaFragment(
  `
local function readPeriods(type)
  return { call('HGETALL', key('minute', type)), call('HGETALL', key('history', type)) }
end

local function readTotal()
  return { now, readPeriods(totalType) }
end

local function readActivity(types, failing)
  local reply = {}
  for type in string.gmatch(types, '[^,]+') do
    local minutes = table.concat(call('HGETALL', key('minute', type)), '\\t')
    if failing[type] then
      local failures = {}
      for _, serviceType in ipairs(failing[type]) do
        failures[#failures + 1] = call('LINDEX', key('failures', serviceType), 0) or nil
      end
      reply[#reply + 1] = { minutes, failures }
    else
      reply[#reply + 1] = minutes
    end
  end
  return reply
end
`,
  [prelude, periodRoll],
);

/** Returns the reply of `readTotal`. */
export function readTotal(reply: unknown): TotalActivity & { readonly now: number } {
  const [nowValue, periods] = readArray(reply);
  const now = readNumber(nowValue);
  const stored = readPeriods(now, periods);
  return { now, recent: stored.recent(), histories: stored.histories() };
}

/** Returns the open minute and the history of a type. */
export function readPeriods(now: number, reply: unknown): StoredPeriods {
  const [open, history] = readArray(reply);
  return new StoredPeriods(now, readHash(open), readHash(history));
}

/**
 * Returns the reply of `readActivity`.
 *
 * @param known results of the last read
 */
export function readActivity(now: number, reply: unknown, known: LastRead<RecentActivity>): TypeActivity[] {
  const entries = readArray(reply).map((entry) => (Array.isArray(entry) ? readArray(entry) : [entry]));
  const texts = entries.map(([minutes]) => readString(minutes));
  const recent = known.read(texts, (minutes) => readRecent(now, minutes), periodOf(now, periodKinds.minutes));
  return recent.map((activity, index) => {
    const failures = entries[index]?.[1];
    if (failures === undefined) return { recent: activity };
    const [lastFailure] = readArray(failures)
      .map(readFailure)
      .sort((a, b) => b.at - a.at);
    return { recent: activity, ...(lastFailure !== undefined && { lastFailure }) };
  });
}

function readRecent(now: number, minutes: string): RecentActivity {
  const words = minutes.split('\t');
  const open = new Map<string, string>();
  for (let index = 0; index + 1 < words.length; index += 2) open.set(words[index] ?? '', words[index + 1] ?? '');
  return new StoredPeriods(now, open).recent();
}

export const rangeScript: Script = new Script({
  name: 'range',
  access: 'reads',
  purpose: 'Reads the histories of many types.',
  argv: 'types, separated by commas',
  reply: 'the time, then the open minute and the history of each type',
  includes: [prelude, activity],
  lua: `
local reply = { now }
for type in string.gmatch(take(), '[^,]+') do reply[#reply + 1] = readPeriods(type) end
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
