import type { Histories, History } from '../../server/dashboard/protocol.js';
import type { ChosenRange, Range, Selection } from '../state/navigation.js';

/** Counts of one period of a history. */
export interface Point {
  /** Start of the period in epoch milliseconds. */
  readonly at: number;
  readonly endAt: number;
  readonly received: number;
  readonly completed: number;
  readonly failed: number;
  readonly waitP95Ms: number | null;
  readonly durationP95Ms: number | null;
  /** Part of the period in which the hub ran and that has passed; 0 if there is none. */
  readonly coveredMs: number;
  /** True if the period has not ended. */
  readonly isCurrent: boolean;
}

/** Periods in the shortest range: the current minute and the five before it. */
const MINUTES_IN_SHORTEST = 6;

/** Periods of 5 minutes in a day. The history has an hour more than two days, to compare a day with the one before. */
const PERIODS_IN_DAY = 288;

/** Label of each range. */
export const RANGE_LABEL: Record<Range, string> = { '5m': '5 min', '1h': '1 h', '24h': '24 h', '7d': '7 d' };

const SHORTEST_MS = 360_000;

/** Returns the range to show: the chosen one, or one that a young hub fills. @param now see {@link historyPoints} */
export function rangeToShow(chosen: ChosenRange, { minutes }: Histories, now: number, startedAt: number | null): Range {
  if (chosen !== 'auto') return chosen;
  const known = historyPoints(minutes, now, startedAt).find(({ coveredMs }) => coveredMs > 0);
  return known === undefined || known.endAt - known.coveredMs > now - SHORTEST_MS ? '5m' : '1h';
}

/** Returns the history that covers a range. */
export function historyOfRange(histories: Histories, range: Range): History {
  if (range === '7d') return histories.hours;
  if (range === '24h') return lastPeriods(histories.fiveMinutes, PERIODS_IN_DAY);
  return range === '1h' ? histories.minutes : lastPeriods(histories.minutes, MINUTES_IN_SHORTEST);
}

function lastPeriods(history: History, count: number): History {
  const skipped = Math.max(0, history.received.length - count);
  const parts = Object.entries(history).map(([name, part]) => [name, Array.isArray(part) ? part.slice(skipped) : part]);
  // Each part is a number, or has one value per period.
  return { ...(Object.fromEntries(parts) as History), startAt: history.startAt + skipped * history.stepMs };
}

/**
 * Returns the periods of a history, oldest first.
 *
 * @param now time at which the counts were read, in epoch milliseconds
 * @param startedAt time at which the hub started. Older processes of a fleet may have counted before it.
 */
export function historyPoints(history: History, now: number, startedAt: number | null): readonly Point[] {
  const first = firstActivity(history) ?? now;
  // The period of the start is known from the start on, although its events count from the beginning of the period.
  const isOlder = startedAt === null || first + history.stepMs <= startedAt;
  const knownFrom = isOlder ? first : startedAt;
  return history.received.map((received, index) => {
    const at = history.startAt + index * history.stepMs;
    const endAt = at + history.stepMs;
    return {
      at,
      endAt,
      received,
      completed: history.completed[index] ?? 0,
      failed: history.failed[index] ?? 0,
      waitP95Ms: history.waitP95Ms[index] ?? null,
      durationP95Ms: history.durationP95Ms[index] ?? null,
      coveredMs: Math.max(0, Math.min(endAt, now) - Math.max(at, knownFrom)),
      isCurrent: endAt > now,
    };
  });
}

/** Smallest number of periods that fills a chart. */
const MIN_ZOOMED = 4;

/**
 * Returns the periods of a selection from the finest history that has all of it, or `null` if they are too few for a chart.
 *
 * @param now see {@link historyPoints}
 * @param startedAt see {@link historyPoints}
 */
export function zoomedPoints(
  { minutes, fiveMinutes, hours }: Histories,
  { from, to }: Selection,
  now: number,
  startedAt: number | null,
): readonly Point[] | null {
  const history = [minutes, fiveMinutes, hours].find(({ startAt }) => startAt <= from);
  if (history === undefined) return null;
  const points = historyPoints(history, now, startedAt).filter(({ at, endAt }) => endAt > from && at < to);
  return points.length < MIN_ZOOMED ? null : points;
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * Returns for each point the period of the day before that contains its start, or `undefined` if it is not known. Periods
 * of a day ago have 5 minutes. A point over a longer period has none.
 *
 * @param now see {@link historyPoints}
 * @param startedAt see {@link historyPoints}
 */
export function dayBefore(
  points: readonly Point[],
  { fiveMinutes }: Histories,
  now: number,
  startedAt: number | null,
): readonly (Point | undefined)[] {
  const all = historyPoints(fiveMinutes, now, startedAt);
  return points.map(({ at, endAt }) => {
    if (endAt - at > fiveMinutes.stepMs) return undefined;
    const point = all[Math.floor((at - DAY_MS - fiveMinutes.startAt) / fiveMinutes.stepMs)];
    return point !== undefined && point.coveredMs > 0 ? point : undefined;
  });
}

/**
 * Returns the time since which events are counted: the start of the hub, or the end of the first hour in which older
 * processes counted some.
 *
 * @param startedAt see {@link historyPoints}
 */
export function countedSince({ hours }: Histories, startedAt: number | null): number {
  const first = firstActivity(hours) ?? Number.POSITIVE_INFINITY;
  return Math.min(startedAt ?? Number.POSITIVE_INFINITY, first + hours.stepMs);
}

function firstActivity({ startAt, stepMs, received, completed, failed }: History): number | undefined {
  const first = received.findIndex((count, index) => count + (completed[index] ?? 0) + (failed[index] ?? 0) > 0);
  return first === -1 ? undefined : startAt + first * stepMs;
}

/** Part of a period from which a rate is computed at least. Over less time, chance dominates. */
const MIN_PART = 0.1;

/** Returns a count of a period per second. */
export function perSecond(count: number, { coveredMs, at, endAt }: Point): number {
  if (coveredMs === 0) return 0;
  return (count / Math.max(coveredMs, MIN_PART * (endAt - at))) * 1_000;
}
