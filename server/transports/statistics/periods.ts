import { minuteMs } from '../limits.js';
import { durationOfBucket } from './duration-sketch.js';
import type { Histories, History, PeriodCounts, RangeCounts } from './stats.js';

/** Length and number of the periods of a history. */
export interface PeriodKind {
  readonly stepMs: number;
  readonly length: number;
}

/** Periods of the three histories, the finest first. */
export const periodKinds: Readonly<Record<keyof Histories, PeriodKind>> = {
  minutes: { stepMs: minuteMs, length: 60 },
  fiveMinutes: { stepMs: 5 * minuteMs, length: 288 },
  hours: { stepMs: 60 * minuteMs, length: 168 },
};

/** Number of minutes of `last5Min`, the current one included. */
export const recentMinutes = 6;

/** Number of minutes of the trend in `RecentActivity`, the current one included. */
export const trendMinutes = 20;

/** Number of periods of 5 minutes in `lastHour`, the current one included. */
export const recentFives = 13;

/** Counters of a period. */
export const periodCounters = ['received', 'completed', 'failed', 'cancelled', 'retried'] as const;

/** Counts of one period, and its percentiles as buckets of durations. */
export interface PeriodRecord {
  readonly counts: PeriodCounts;
  readonly waitBucket: number | undefined;
  readonly durationBucket: number | undefined;
}

/** Counts of a period without events. */
export const noCounts: PeriodCounts = { received: 0, completed: 0, failed: 0, cancelled: 0, retried: 0 };

/** Returns the number of the period of `at`, counted from the epoch. */
export function periodOf(at: number, { stepMs }: PeriodKind): number {
  return Math.floor(at / stepMs);
}

/** Adds up counts. */
export function sumPeriods(all: Iterable<PeriodCounts>): PeriodCounts {
  const sum = { ...noCounts };
  for (const counts of all) for (const counter of periodCounters) sum[counter] += counts[counter];
  return sum;
}

/** Returns the numbers of the `count` periods that end with the current one, oldest first. */
export function lastPeriods(current: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => current - count + 1 + index);
}

/** Builds a history. @param read returns the record of a period */
export function buildHistory(
  kind: PeriodKind,
  now: number,
  read: (period: number) => PeriodRecord | undefined,
): History {
  const periods = lastPeriods(periodOf(now, kind), kind.length);
  const records = periods.map(read);
  const column = (of: (counts: PeriodCounts) => number): readonly number[] =>
    records.map((record) => (record === undefined ? 0 : of(record.counts)));
  const times = (of: (record: PeriodRecord) => number | undefined): readonly (number | null)[] =>
    records.map((record) => {
      const bucket = record && of(record);
      return bucket === undefined ? null : durationOfBucket(bucket);
    });
  return {
    startAt: (periods[0] ?? 0) * kind.stepMs,
    stepMs: kind.stepMs,
    received: column(({ received }) => received),
    completed: column(({ completed }) => completed),
    failed: column(({ failed, cancelled }) => failed - cancelled),
    waitP95Ms: times(({ waitBucket }) => waitBucket),
    durationP95Ms: times(({ durationBucket }) => durationBucket),
  };
}

/** Whole periods of the finest history that covers a range; `from` and `to` are inclusive. */
export interface RangePeriods {
  readonly name: keyof Histories;
  readonly kind: PeriodKind;
  readonly from: number;
  readonly to: number;
}

/** Widens a range in epoch milliseconds to whole periods of the finest history that covers it. */
export function rangePeriods(from: number, to: number, now: number): RangePeriods {
  const names = ['minutes', 'fiveMinutes', 'hours'] as const;
  const covers = ({ stepMs, length }: PeriodKind): boolean => {
    const first = (Math.floor(now / stepMs) - length + 1) * stepMs;
    return from >= first;
  };
  const name = names.find((each) => covers(periodKinds[each])) ?? 'hours';
  const kind = periodKinds[name];
  const current = periodOf(now, kind);
  const first = Math.max(periodOf(from, kind), current - kind.length + 1);
  return { name, kind, from: first, to: Math.max(first, Math.min(periodOf(Math.max(from, to - 1), kind), current)) };
}

/** Returns the times of the periods of a range. */
export function rangeTimes({ kind, from, to }: RangePeriods): Omit<RangeCounts, 'counts'> {
  return { from: from * kind.stepMs, to: (to + 1) * kind.stepMs, stepMs: kind.stepMs };
}
