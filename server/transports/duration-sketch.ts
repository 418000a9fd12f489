import type { Durations } from './stats.js';

const relativeError = 0.02;
const gamma = (1 + relativeError) / (1 - relativeError);
const logGamma = Math.log(gamma);
// The logarithm of 0 is not finite, and durations below a microsecond are noise.
const smallestMs = 0.001;

/** Returns the index of the bucket that counts a duration. */
export function durationBucket(durationMs: number): number {
  return Math.ceil(Math.log(Math.max(durationMs, smallestMs)) / logGamma);
}

/**
 * Percentiles of any number of durations in bounded memory: one count per bucket, about 800 buckets with bounds that
 * grow by 4 %. Sketches of several services or processes merge without loss.
 *
 * @see Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with
 * relative-error guarantees", VLDB 2019
 */
export class DurationSketch {
  readonly #buckets = new Map<number, number>();
  #count = 0;
  #max = 0;

  /** Adds one duration. */
  add(durationMs: number): void {
    this.addBucket(durationBucket(durationMs), 1, durationMs);
  }

  /** Adds `count` durations of one bucket, none longer than `maxMs`. */
  addBucket(bucket: number, count: number, maxMs: number): void {
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + count);
    this.#count += count;
    if (maxMs > this.#max) this.#max = maxMs;
  }

  /** Adds all durations of another sketch. */
  merge(other: DurationSketch): void {
    for (const [bucket, count] of other.#buckets) {
      this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + count);
    }
    this.#count += other.#count;
    this.#max = Math.max(this.#max, other.#max);
  }

  /** Returns the percentiles, and the exact maximum. */
  durations(): Durations {
    if (this.#count === 0) return { p50: null, p95: null, p99: null, max: null };
    const sorted = [...this.#buckets].sort(([a], [b]) => a - b);
    const percentile = (share: number): number => {
      let rank = share * (this.#count - 1);
      for (const [bucket, count] of sorted) {
        rank -= count;
        if (rank < 0) return Math.min((2 * gamma ** bucket) / (gamma + 1), this.#max);
      }
      return this.#max;
    };
    return { p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99), max: this.#max };
  }
}
