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

/** Number of minutes of `last5Min`, the current one included. */
export const recentMinutes = 6;

/** Number of minutes of the trend in `RecentActivity`, the current one included. */
export const trendMinutes = 20;

/** Number of periods of 5 minutes in `lastHour`, the current one included. */
export const recentFives = 13;

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
