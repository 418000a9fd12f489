import type { Durations } from './stats.js';

/** Relative error of a percentile. */
const accuracy = 0.02;
const gamma = (1 + accuracy) / (1 - accuracy);
const logGamma = Math.log(gamma);
// Below a microsecond a duration is noise.
const smallestMs = 0.001;

/** The bucket that a duration falls in. */
export function durationBucket(durationMs: number): number {
  return Math.ceil(Math.log(Math.max(durationMs, smallestMs)) / logGamma);
}

/**
 * Percentiles of any number of durations in bounded memory: a count for each of about 800 buckets
 * whose bounds grow by 4 %. Sketches add up, over services and over processes, without loss.
 *
 * @see Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with
 * relative-error guarantees", VLDB 2019
 */
export class DurationSketch {
  readonly #buckets = new Map<number, number>();
  #count = 0;
  #max = 0;

  add(durationMs: number): void {
    this.addBucket(durationBucket(durationMs), 1, durationMs);
  }

  /** Adds what was counted elsewhere in one bucket, none of it longer than `maxMs`. */
  addBucket(bucket: number, count: number, maxMs: number): void {
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + count);
    this.#count += count;
    if (maxMs > this.#max) this.#max = maxMs;
  }

  merge(other: DurationSketch): void {
    for (const [bucket, count] of other.#buckets) {
      this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + count);
    }
    this.#count += other.#count;
    this.#max = Math.max(this.#max, other.#max);
  }

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
