import { retainedFailures } from '../../limits.js';
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
import { readArray, readHash, readNumber, readString, unexpected } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { decodeError } from '../jobs/event-codec.js';
import { encodeName, eventIdOf, typeList } from '../names.js';
import { readCounts } from './counts.js';
import type { RecentActivities } from './recent-activities.js';
import { StoredPeriods } from './stored-periods.js';

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

/** Returns the reply of {@link scripts.range} as counts between two times. */
function readRange(from: number, to: number, reply: unknown): RangeCounts {
  const [nowValue, ...types] = readArray(reply);
  const now = readNumber(nowValue);
  const periods: RangePeriods = rangePeriods(from, to, now);
  return { ...rangeTimes(periods), counts: types.map((type) => readPeriods(now, type).range(periods)) };
}

/** Returns the reply of {@link scripts.metrics}. */
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

/** Returns the reply of {@link scripts.durations}. */
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

/** Returns the reply of {@link scripts.failures}: the newest failures of all services, newest first. */
function readFailures(reply: unknown): FailureRecord[] {
  return readArray(reply)
    .flatMap((list) => readArray(list).map(readFailure))
    .sort((a, b) => b.at - a.at)
    .slice(0, retainedFailures);
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
    get: async (types) => readCounts(await commands.runScript(scripts.counts, [typeList(types)])),
    metrics: async (type) => readMetrics(type, await commands.runScript(scripts.metrics, [encodeName(type)])),
    range: async (types, from, to) => readRange(from, to, await commands.runScript(scripts.range, [typeList(types)])),
    durations: async (types) => readDurations(await commands.runScript(scripts.durations, [typeList(types)])),
    failures: async (type) => readFailures(await commands.runScript(scripts.failures, [encodeName(type)])),
    async revision(type) {
      return readString(await commands.runScript(scripts.revision, type === undefined ? [] : [encodeName(type)]));
    },
  };
}
