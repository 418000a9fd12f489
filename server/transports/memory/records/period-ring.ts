import type { DurationSketch } from '../../statistics/duration-sketch.js';
import type { PeriodKind, PeriodRecord } from '../../statistics/periods.js';

const noBucket = -32_768;
const common = 3;
const rare = 2;

/** The last periods of one kind with their counts and percentiles: 20 bytes per period, none before the first one is over. */
export class PeriodRing {
  readonly #length: number;
  #periods = new Uint32Array(0);
  #counts = new Uint32Array(0);
  // Most types neither retry nor cancel.
  #rareCounts = new Uint32Array(0);
  #buckets = new Int16Array(0);

  constructor({ length }: PeriodKind) {
    this.#length = length;
  }

  /** Stores a period that is over. */
  add(period: number, counts: Uint32Array, wait: DurationSketch, duration: DurationSketch): void {
    if (this.#periods.length === 0) {
      this.#periods = new Uint32Array(this.#length);
      this.#counts = new Uint32Array(this.#length * common);
      this.#buckets = new Int16Array(this.#length * 2);
    }
    const slot = period % this.#length;
    this.#periods[slot] = period;
    this.#counts.set(counts.subarray(0, common), slot * common);
    const rareCounts = counts.subarray(common);
    if (this.#rareCounts.length === 0 && rareCounts.some((count) => count > 0)) {
      this.#rareCounts = new Uint32Array(this.#length * rare);
    }
    if (this.#rareCounts.length > 0) this.#rareCounts.set(rareCounts, slot * rare);
    this.#buckets[slot * 2] = wait.bucketAt(0.95) ?? noBucket;
    this.#buckets[slot * 2 + 1] = duration.bucketAt(0.95) ?? noBucket;
  }

  /** Returns a period; `undefined` if nothing was counted in it or it is older than the ring. */
  get(period: number): PeriodRecord | undefined {
    const slot = period % this.#length;
    if (this.#periods[slot] !== period) return undefined;
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
}

/** Names the counts of an array in the order of `periodCounters`. */
export function readCounts(counts: Iterable<number>): PeriodRecord['counts'] {
  const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
  return { received, completed, failed, cancelled, retried };
}
