import type { DurationSketch } from '../../statistics/duration-sketch.js';
import type { PeriodKind, PeriodRecord } from '../../statistics/periods.js';
import type { RecentMinutes } from '../../statistics/recent-minutes.js';

// A bucket of 127 stands for 3 years.
const [noBucket, lastBucket] = [-128, 127];
const common = 3;
const rare = 2;

type CountArray = Uint16Array | Uint32Array;

/**
 * The last periods of one kind with their counts and percentiles: at most 22 bytes per period, 8 if it has less than
 * 65,536 events and none is retried or cancelled, and none before the first one is over.
 */
export class PeriodRing {
  readonly #length: number;
  #newest = -1;
  #counts: CountArray = new Uint16Array(0);
  // Most types neither retry nor cancel.
  #rareCounts: CountArray = new Uint16Array(0);
  #buckets = new Int8Array(0);

  constructor({ length }: PeriodKind) {
    this.#length = length;
  }

  /** Stores a period that is over; periods in ascending order. */
  add(period: number, counts: readonly number[], wait: DurationSketch, duration: DurationSketch): void {
    if (this.#newest === -1) {
      this.#counts = new Uint16Array(this.#length * common);
      this.#buckets = new Int8Array(this.#length * 2).fill(noBucket);
    } else this.#skipTo(period);
    this.#newest = period;
    const slot = period % this.#length;
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
    this.#counts = setCounts(this.#counts, slot * common, received, completed, failed);
    if (cancelled > 0 || retried > 0 || this.#rareCounts.length > 0) {
      if (this.#rareCounts.length === 0) this.#rareCounts = new Uint16Array(this.#length * rare);
      this.#rareCounts = setCounts(this.#rareCounts, slot * rare, cancelled, retried);
    }
    this.#buckets[slot * 2] = Math.min(wait.bucketAt(0.95) ?? noBucket, lastBucket);
    this.#buckets[slot * 2 + 1] = Math.min(duration.bucketAt(0.95) ?? noBucket, lastBucket);
  }

  /** Adds the counts of the periods before `end` that are minutes of `sums`. */
  addCountsTo(sums: RecentMinutes, end: number): void {
    const counts = this.#counts;
    const rareCounts = this.#rareCounts;
    const first = Math.max(sums.first, this.#newest - this.#length + 1);
    for (let period = first; period < end && period <= this.#newest; period += 1) {
      const slot = period % this.#length;
      const index = slot * common;
      const rareIndex = slot * rare;
      sums.addCounts(
        period,
        counts[index] ?? 0,
        counts[index + 1] ?? 0,
        counts[index + 2] ?? 0,
        rareCounts[rareIndex] ?? 0,
        rareCounts[rareIndex + 1] ?? 0,
      );
    }
  }

  /** Returns a period; `undefined` if it is later than the newest one or older than the ring. */
  get(period: number): PeriodRecord | undefined {
    if (period > this.#newest || period <= this.#newest - this.#length) return undefined;
    const slot = period % this.#length;
    const bucket = (index: number): number | undefined => {
      const value = this.#buckets[slot * 2 + index] ?? noBucket;
      return value === noBucket ? undefined : value;
    };
    return {
      counts: readCounts([
        ...this.#counts.subarray(slot * common, (slot + 1) * common),
        ...this.#rareCounts.subarray(slot * rare, (slot + 1) * rare),
      ]),
      waitBucket: bucket(0),
      durationBucket: bucket(1),
    };
  }

  /** Empties the periods between the newest one and `period`. */
  #skipTo(period: number): void {
    for (let skipped = Math.max(this.#newest, period - this.#length) + 1; skipped < period; skipped += 1) {
      const slot = skipped % this.#length;
      this.#counts.fill(0, slot * common, (slot + 1) * common);
      this.#rareCounts.fill(0, slot * rare, (slot + 1) * rare);
      this.#buckets.fill(noBucket, slot * 2, slot * 2 + 2);
    }
  }
}

/** Stores counts from `index` on. Returns the array, or a wider one if a count does not fit. */
function setCounts(counts: CountArray, index: number, ...values: readonly number[]): CountArray {
  const isTooNarrow = counts instanceof Uint16Array && values.some((value) => value > 0xffff);
  const wide = isTooNarrow ? Uint32Array.from(counts) : counts;
  wide.set(values, index);
  return wide;
}

/** Names the counts of an array in the order of `periodCounters`. */
export function readCounts(counts: readonly number[]): PeriodRecord['counts'] {
  const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
  return { received, completed, failed, cancelled, retried };
}
