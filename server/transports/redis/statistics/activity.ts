import { retainedFailures } from '../../limits.js';
import { PeriodHistory, partsOfRange } from '../../statistics/period-history.js';
import { historyNames, periodKinds, periodOf, rangePeriods, rangeTimes } from '../../statistics/periods.js';
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
import { readArray, readNumber, readString, unexpected } from '../connection/reply.js';
import { type ScriptArgument, scripts } from '../connection/script.js';
import { decodeError } from '../jobs/event-codec.js';
import { encodeName, eventIdOf, typeList } from '../names.js';
import { readCountedMinute } from './counted-minute.js';
import { readCounts } from './counts.js';
import type { OpenMinute, RecentActivities } from './recent-activities.js';

/** Returns the reply of `readTotal`. */
export function readTotal(reply: unknown): TotalActivity & { readonly now: number } {
  const [nowValue, periods] = readArray(reply);
  const now = readNumber(nowValue);
  const history = readHistory(periods);
  return { now, recent: history.recent(now), histories: history.histories(now) };
}

/** Returns the history of a type from the reply of `readPeriods`. */
function readHistory(reply: unknown): PeriodHistory {
  const [open, minutes, fields] = readArray(reply);
  const texts = readArray(fields).map(readText);
  const parts = texts.flatMap((name, index) => (index % 2 === 0 ? [[name, texts[index + 1] ?? ''] as const] : []));
  const history = new PeriodHistory().restore([['minutes', readText(minutes)], ...parts]);
  return withOpen(history, readOpenMinutes(open), 0);
}

/** Adds the minutes that are not in a history yet. @param index place of its type */
function withOpen(history: PeriodHistory, open: readonly OpenMinute[], index: number): PeriodHistory {
  for (const { minute, counts } of open) history.add(minute, readCountedMinute(counts[index] ?? ''));
  return history;
}

/** Returns the reply of `readMinutes`. */
function readOpenMinutes(reply: unknown): readonly OpenMinute[] {
  return readArray(reply).map((each) => {
    const [minute, counts] = readArray(each);
    return { minute: readNumber(minute), counts: readArray(counts).map(readText) };
  });
}

/**
 * Returns the reply of `readActivity`.
 *
 * @param types argument of `readCounts`
 * @param activities those of earlier replies
 */
export function readActivity(
  types: string,
  now: number,
  reply: unknown,
  activities: RecentActivities,
): readonly TypeActivity[] {
  const [open, rolled, lastHours, failures] = readArray(reply);
  const recent = activities.read(types, periodOf(now, periodKinds.minutes), {
    open: readOpenMinutes(open),
    rolled: readString(rolled),
    lastHours: lastHours === null ? undefined : readArray(lastHours).map(readText),
  });
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

/** Returns the arguments of {@link scripts.range}, which reads the parts of the first history that covers the range. */
function rangeQuery(types: readonly string[], from: number, to: number): readonly ScriptArgument[] {
  const kinds = historyNames.flatMap((name) => {
    const { stepMs, length } = periodKinds[name];
    const parts = partsOfRange(name, from, to);
    return [stepMs, length, parts.length, ...parts];
  });
  return [typeList(types), from, historyNames.length, ...kinds];
}

/** Returns the reply of {@link scripts.range} as counts between two times. */
function readRange(from: number, to: number, reply: unknown): RangeCounts {
  const [now, openReply, names, ...types] = readArray(reply);
  const periods = rangePeriods(from, to, readNumber(now));
  const open = readOpenMinutes(openReply);
  const parts = readArray(names).map(readString);
  const counts = types.map((reply, index) => {
    const texts = readArray(reply).map(readText);
    const history = new PeriodHistory().restore(parts.map((name, part) => [name, texts[part] ?? '']));
    return withOpen(history, open, index).range(periods);
  });
  return { ...rangeTimes(periods), counts };
}

/** Returns the reply of {@link scripts.metrics}. */
function readMetrics(type: string, reply: unknown): EventMetrics {
  const [nowValue, typeCounts, periods] = readArray(reply);
  const [found] = readCounts(typeCounts);
  if (found === undefined) throw unexpected('the counts of the type', typeCounts);
  const now = readNumber(nowValue);
  const history = readHistory(periods);
  return {
    type,
    ...found.total,
    recent: history.recent(now),
    ...history.durations(now),
    histories: history.histories(now),
  };
}

/** Returns the reply of {@link scripts.durations}. */
function readDurations(reply: unknown): TypeDurations[] {
  const [openReply, latest] = readArray(reply);
  const open = readOpenMinutes(openReply);
  return readArray(latest).map((text, index) =>
    withOpen(new PeriodHistory().restore([['latest', readText(text)]]), open, index).totals(),
  );
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
    range: async (types, from, to) =>
      readRange(from, to, await commands.runScript(scripts.range, rangeQuery(types, from, to))),
    durations: async (types) => readDurations(await commands.runScript(scripts.durations, [typeList(types)])),
    failures: async (type) => readFailures(await commands.runScript(scripts.failures, [encodeName(type)])),
    async revision(type) {
      return readString(await commands.runScript(scripts.revision, type === undefined ? [] : [encodeName(type)]));
    },
  };
}
