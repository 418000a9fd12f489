import { minuteMs } from '../limits.js';
import { DurationSketch, durationOfBucket } from './durations.js';
import {
  type Histories,
  type History,
  type PeriodCounts,
  periodCounters,
  type RangeCounts,
  type RecentActivity,
} from './stats.js';

/** Length and number of the periods of a history. */
export interface PeriodKind {
  readonly stepMs: number;
  readonly length: number;
}

/** Periods of the three histories, the finest first. */
export const periodKinds: Readonly<Record<keyof Histories, PeriodKind>> = {
  minutes: { stepMs: minuteMs, length: 60 },
  fiveMinutes: { stepMs: 5 * minuteMs, length: 588 },
  hours: { stepMs: 60 * minuteMs, length: 168 },
};

/** Names of the three histories, the finest first. */
export const historyNames: readonly (keyof Histories)[] = ['minutes', 'fiveMinutes', 'hours'];

/** Number of minutes of `last5Min`, the current one included. */
export const recentMinutes = 6;

/** Number of minutes of the trend in `RecentActivity`, the current one included. */
export const trendMinutes = 20;

/** Number of periods of 5 minutes in `lastHour`, the current one included. */
export const recentFives = 13;

/** Counts and percentiles of a period. */
export interface ClosedPeriod {
  readonly period: number;
  /** In the order of `periodCounters`. */
  readonly counts: readonly number[];
  /** Buckets of the 95th percentiles. */
  readonly waitBucket: number | undefined;
  readonly durationBucket: number | undefined;
}

/** Returns the number of the period of `at`, counted from the epoch. */
export function periodOf(at: number, { stepMs }: PeriodKind): number {
  return Math.floor(at / stepMs);
}

/** Adds up the counts of periods. */
export function sumPeriods(periods: Iterable<ClosedPeriod>): PeriodCounts {
  const sum = noPeriodCounts();
  for (const { counts } of periods) {
    for (const [index, counter] of periodCounters.entries()) sum[counter] += counts[index] ?? 0;
  }
  return sum;
}

/** Builds a history. Of two periods with one number, which a clock that was set back leaves, the counts add up. */
export function buildHistory(kind: PeriodKind, now: number, periods: Iterable<ClosedPeriod>): History {
  const first = periodOf(now, kind) - kind.length + 1;
  const zeros = (): number[] => Array.from({ length: kind.length }, () => 0);
  const [received, completed, failed] = [zeros(), zeros(), zeros()];
  const waitP95Ms: (number | null)[] = received.map(() => null);
  const durationP95Ms: (number | null)[] = received.map(() => null);
  for (const { period, counts, waitBucket, durationBucket } of periods) {
    const index = period - first;
    if (index < 0 || index >= kind.length) continue;
    const [inReceived = 0, inCompleted = 0, inFailed = 0, inCancelled = 0] = counts;
    received[index] = (received[index] ?? 0) + inReceived;
    completed[index] = (completed[index] ?? 0) + inCompleted;
    failed[index] = (failed[index] ?? 0) + inFailed - inCancelled;
    if (waitBucket !== undefined) waitP95Ms[index] = durationOfBucket(waitBucket);
    if (durationBucket !== undefined) durationP95Ms[index] = durationOfBucket(durationBucket);
  }
  return { startAt: first * kind.stepMs, stepMs: kind.stepMs, received, completed, failed, waitP95Ms, durationP95Ms };
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
  const covers = ({ stepMs, length }: PeriodKind): boolean => {
    const first = (Math.floor(now / stepMs) - length + 1) * stepMs;
    return from >= first;
  };
  const name = historyNames.find((each) => covers(periodKinds[each])) ?? 'hours';
  const kind = periodKinds[name];
  const current = periodOf(now, kind);
  const first = Math.max(periodOf(from, kind), current - kind.length + 1);
  return { name, kind, from: first, to: Math.max(first, Math.min(periodOf(Math.max(from, to - 1), kind), current)) };
}

/** Returns the times of the periods of a range. */
export function rangeTimes({ kind, from, to }: RangePeriods): Omit<RangeCounts, 'counts'> {
  return { from: from * kind.stepMs, to: (to + 1) * kind.stepMs, stepMs: kind.stepMs };
}

const firstOfLast5Min = trendMinutes - recentMinutes;
const emptyMinutes: readonly number[] = Array.from({ length: trendMinutes }, () => 0);
// Many results share it.
const noMinutes: readonly number[] = Object.freeze(emptyMinutes.slice());

/** Sums of the minutes of a type that are over, as long as the current minute lasts. At most 2 kB. */
export interface ClosedMinutes {
  readonly received: readonly number[];
  readonly failed: readonly number[];
  readonly last5Min: PeriodCounts;
  readonly waits: DurationSketch | undefined;
  readonly durations: DurationSketch | undefined;
}

const noClosedMinutes: ClosedMinutes = {
  received: noMinutes,
  failed: noMinutes,
  last5Min: { received: 0, completed: 0, failed: 0, cancelled: 0, retried: 0 },
  waits: undefined,
  durations: undefined,
};

/** Activity of a type without events in the last minutes. */
export const noActivity: RecentActivity = {
  last5Min: noClosedMinutes.last5Min,
  waitP95Ms: null,
  durationP95Ms: null,
  minutes: { received: noMinutes, failed: noMinutes },
};

/**
 * Sums of the last minutes of a type. A reader of many types uses one for all of them: objects per minute of a thousand
 * types would take longer than all else that an introspection does.
 */
export class RecentMinutes {
  /** First minute of the trend. */
  readonly first: number;
  /** First minute of the last 5 minutes, which have durations. */
  readonly firstWithDurations: number;
  readonly waits: DurationSketch = new DurationSketch();
  readonly durations: DurationSketch = new DurationSketch();
  #received: number[] | undefined;
  #failed: number[] | undefined;
  #last5Min = noPeriodCounts();
  #closed: ClosedMinutes = noClosedMinutes;

  /** @param current the current minute, counted from the epoch */
  constructor(current: number) {
    this.first = current - trendMinutes + 1;
    this.firstWithDurations = this.first + firstOfLast5Min;
  }

  /** Adds counts of a minute. One after the current minute is part of the last 5 minutes. */
  addCounts(
    minute: number,
    received: number,
    completed: number,
    failed: number,
    cancelled: number,
    retried: number,
  ): void {
    const index = minute - this.first;
    if (index < 0) return;
    if (index < trendMinutes && received > 0) {
      this.#received ??= copyOf(this.#closed.received);
      this.#received[index] = (this.#received[index] ?? 0) + received;
    }
    if (index < trendMinutes && failed > 0) {
      this.#failed ??= copyOf(this.#closed.failed);
      this.#failed[index] = (this.#failed[index] ?? 0) + failed - cancelled;
    }
    if (index < firstOfLast5Min) return;
    const sum = this.#last5Min;
    sum.received += received;
    sum.completed += completed;
    sum.failed += failed;
    sum.cancelled += cancelled;
    sum.retried += retried;
  }

  /** Returns what was added, and begins with the next type. */
  takeClosed(): ClosedMinutes {
    const closed = {
      received: this.#received ?? noMinutes,
      failed: this.#failed ?? noMinutes,
      last5Min: this.#last5Min,
      waits: this.waits.isEmpty ? undefined : this.waits.copy(),
      durations: this.durations.isEmpty ? undefined : this.durations.copy(),
    };
    this.#begin();
    return closed;
  }

  /** Adds minutes that {@link takeClosed} returned, before all others of a type. */
  addClosed(closed: ClosedMinutes): void {
    this.#closed = closed;
    const { received, completed, failed, cancelled, retried } = closed.last5Min;
    this.#last5Min = { received, completed, failed, cancelled, retried };
  }

  /**
   * Returns the activity that was added, and begins with the next type.
   *
   * @param waits waiting times of the minutes that are not closed
   * @param durations durations of these minutes
   */
  take(waits: DurationSketch = this.waits, durations: DurationSketch = this.durations): RecentActivity {
    const closed = this.#closed;
    const activity = {
      last5Min: this.#last5Min,
      waitP95Ms: waits.percentileWith(closed.waits, 0.95),
      durationP95Ms: durations.percentileWith(closed.durations, 0.95),
      minutes: { received: this.#received ?? closed.received, failed: this.#failed ?? closed.failed },
    };
    this.#begin();
    return activity;
  }

  #begin(): void {
    this.#last5Min = noPeriodCounts();
    this.#received = undefined;
    this.#failed = undefined;
    this.#closed = noClosedMinutes;
    this.waits.clear();
    this.durations.clear();
  }
}

function noPeriodCounts(): { -readonly [K in keyof PeriodCounts]: number } {
  return { received: 0, completed: 0, failed: 0, cancelled: 0, retried: 0 };
}

// V8 copies a frozen array many times slower than others.
function copyOf(minutes: readonly number[]): number[] {
  return minutes === noMinutes ? emptyMinutes.slice() : minutes.slice();
}
