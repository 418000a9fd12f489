import type { RangePeriods } from '../../statistics/periods.js';
import { rangePeriods, rangeTimes } from '../../statistics/periods.js';
import type { RangeCounts, TotalActivity, TypeActivity } from '../../statistics/stats.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { periodRoll } from '../scripts/period-roll.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readHash, readNumber, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { readFailure } from './failures.js';
import { StoredPeriods } from './stored-periods.js';

/**
 * `readTotal()` returns the open minute and the history of all event types. `readActivity(types)` returns the open
 * minute, the last minutes and the last failures of each type.
 */
export const activity: LuaFragment = new LuaFragment(
  `
local function readPeriods(type)
  return { call('HGETALL', key('minute', type)), call('HGETALL', key('history', type)) }
end

local function readTotal()
  return { now, readPeriods(totalType) }
end

local function readActivity(types)
  local reply = {}
  for type in string.gmatch(types, '[^,]+') do
    local failures = {}
    for _, serviceType in ipairs(call('SMEMBERS', key('service-types', type))) do
      failures[#failures + 1] = call('LINDEX', key('failures', serviceType), 0) or nil
    end
    local open = table.concat(call('HGETALL', key('minute', type)), ' ')
    reply[#reply + 1] = { open, call('HGET', key('history', type), 'trend') or '', failures }
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

/** Returns the reply of `readActivity`. */
export function readActivity(now: number, reply: unknown): TypeActivity[] {
  return readArray(reply).map((entry) => {
    const [open, trend, failures] = readArray(entry);
    const stored = new StoredPeriods(now, readPairs(readString(open)), new Map([['trend', readString(trend)]]));
    const [lastFailure] = readArray(failures)
      .map(readFailure)
      .sort((a, b) => b.at - a.at);
    return { recent: stored.recent(), ...(lastFailure !== undefined && { lastFailure }) };
  });
}

function* readPairs(text: string): Iterable<readonly [string, string]> {
  const words = text.split(' ');
  for (let index = 0; index + 1 < words.length; index += 2) yield [words[index] ?? '', words[index + 1] ?? ''];
}

export const rangeScript: Script = new Script({
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
