import { DurationSketch } from './duration-sketch.js';
import { recentMinutes, trendMinutes } from './periods.js';
import type { PeriodCounts, RecentActivity } from './stats.js';

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

  /** Adds the counts of a minute, each minute once. One after the current minute is part of the last 5 minutes. */
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
      this.#received[index] = received;
    }
    if (index < trendMinutes && failed > 0) {
      this.#failed ??= copyOf(this.#closed.failed);
      this.#failed[index] = failed - cancelled;
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
