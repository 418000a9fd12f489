import type { Durations } from './stats.js';

const relativeError = 0.1;
/** Ratio of the bounds of two neighbouring buckets. The Lua scripts of Redis are built with the same one. */
export const durationGrowth: number = (1 + relativeError) / (1 - relativeError);
/** Shortest duration that has a bucket of its own: the logarithm of 0 is not finite, and shorter ones are noise. */
export const shortestMs = 0.001;
const logGrowth = Math.log(durationGrowth);

// The highest buckets span a factor of 3,000. What is below them counts as the lowest one.
const maxBuckets = 40;

const shortestBucket = Math.ceil(Math.log(shortestMs) / logGrowth);

/** Returns the index of the bucket that counts a duration. */
export function durationBucket(durationMs: number): number {
  return Math.ceil(Math.log(Math.max(durationMs, shortestMs)) / logGrowth);
}

/** Returns the duration that stands for a bucket, about 10 % from the shortest and the longest one in it. */
export function durationOfBucket(bucket: number): number {
  if (bucket <= shortestBucket) return 0;
  return Number(((2 * durationGrowth ** bucket) / (durationGrowth + 1)).toPrecision(3));
}

/**
 * Percentiles of any number of durations in at most 40 counts: one count per bucket, with bounds that grow by
 * 22 %. Sketches of several periods merge without loss.
 *
 * @see Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with
 * relative-error guarantees", VLDB 2019
 */
export class DurationSketch {
  #first = 0;
  #counts: number[] = [];
  #count = 0;

  /** Returns the sketch that {@link DurationSketch.toJSON} wrote. */
  static from([first = 0, ...counts]: readonly number[]): DurationSketch {
    const sketch = new DurationSketch();
    for (const [index, count] of counts.entries()) if (count > 0) sketch.addBucket(first + index, count);
    return sketch;
  }

  /** Returns the index of the lowest bucket and the counts from there on. */
  toJSON(): readonly number[] {
    return [this.#first, ...this.#counts];
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Adds `count` durations of one bucket. */
  addBucket(bucket: number, count: number): void {
    this.#count += count;
    const index = bucket - this.#first;
    if (index >= 0 && index < this.#counts.length) this.#addAt(index, count);
    else if (index < 0 && this.#counts.length === maxBuckets) this.#addAt(0, count);
    else this.#addOutside(bucket, count);
  }

  /** Adds all durations of another sketch. */
  merge(other: DurationSketch): void {
    for (const [index, count] of other.#counts.entries()) {
      if (count > 0) this.addBucket(other.#first + index, count);
    }
  }

  /** Returns the bucket of a percentile; `undefined` without durations. */
  bucketAt(share: number): number | undefined {
    if (this.#count === 0) return undefined;
    let rank = share * (this.#count - 1);
    let last = this.#first;
    for (const [index, count] of this.#counts.entries()) {
      if (count === 0) continue;
      rank -= count;
      last = this.#first + index;
      if (rank < 0) break;
    }
    return last;
  }

  /** Returns a percentile in milliseconds; `null` without durations. */
  percentile(share: number): number | null {
    const bucket = this.bucketAt(share);
    return bucket === undefined ? null : durationOfBucket(bucket);
  }

  /** Returns the percentiles of the durations. */
  durations(): Durations {
    const [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1].map((share) => this.percentile(share));
    return { p50: p50 ?? null, p95: p95 ?? null, p99: p99 ?? null, max: max ?? null };
  }

  #addOutside(bucket: number, count: number): void {
    const used = this.#counts.length;
    const last = used === 0 ? bucket : Math.max(bucket, this.#first + used - 1);
    const lowest = used === 0 ? bucket : Math.min(bucket, this.#first);
    const first = Math.max(lowest, last - maxBuckets + 1);
    const counts = Array.from({ length: last - first + 1 }, () => 0);
    const [oldFirst, oldCounts] = [this.#first, this.#counts];
    this.#first = first;
    this.#counts = counts;
    for (const [index, old] of oldCounts.entries()) this.#addAt(Math.max(0, oldFirst + index - first), old);
    this.#addAt(Math.max(0, bucket - first), count);
  }

  #addAt(index: number, count: number): void {
    this.#counts[index] = (this.#counts[index] ?? 0) + count;
  }
}
