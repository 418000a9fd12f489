import { minuteMs } from '../limits.js';
import type { DurationCounts, Durations } from './stats.js';

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
  return durationMs <= shortestMs ? shortestBucket : Math.ceil(Math.log(durationMs) / logGrowth);
}

/** Returns the duration that stands for a bucket, about 10 % from the shortest and the longest one in it. */
export function durationOfBucket(bucket: number): number {
  return bucket <= shortestBucket ? 0 : (usualDurations[bucket - shortestBucket] ?? computeDuration(bucket));
}

function computeDuration(bucket: number): number {
  return Number(((2 * durationGrowth ** bucket) / (durationGrowth + 1)).toPrecision(3));
}

// Up to 30 years. Introspection looks at two per type, and the computation takes longer than all else it does for a type.
const usualDurations = Array.from({ length: 172 }, (_, index) => computeDuration(shortestBucket + index));

/**
 * Percentiles of any number of durations in at most 40 counts: one count per bucket, with bounds that grow by
 * 22 %, and the longest duration. Sketches of several periods merge without loss.
 *
 * @see Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with
 * relative-error guarantees", VLDB 2019
 */
export class DurationSketch {
  #first = 0;
  // The counts in use are the first `#size` ones. A sketch that is cleared keeps the array.
  #counts: number[] = [];
  #size = 0;
  #count = 0;
  #longestMs = -1;

  /** Returns the sketch that {@link DurationSketch.toJSON} wrote. @param longestMs its longest duration, if it is known */
  static from([first = 0, ...counts]: readonly number[], longestMs = -1): DurationSketch {
    const sketch = new DurationSketch();
    sketch.#longestMs = longestMs;
    for (const [index, count] of counts.entries()) if (count > 0) sketch.addBucket(first + index, count);
    return sketch;
  }

  /** Returns the index of the lowest bucket and the counts from there on. */
  toJSON(): readonly number[] {
    return [this.#first, ...this.#counts.slice(0, this.#size)];
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Longest duration in milliseconds; -1 if it was not noted. */
  get longestMs(): number {
    return this.#longestMs;
  }

  /** Notes a duration of a bucket that is added: buckets know their durations to 10 %. */
  noteLongest(durationMs: number): void {
    if (durationMs > this.#longestMs) this.#longestMs = durationMs;
  }

  /** Adds `count` durations of one bucket. */
  addBucket(bucket: number, count: number): void {
    this.#count += count;
    const index = bucket - this.#first;
    if (index >= 0 && index < this.#size) this.#addAt(index, count);
    else if (index < 0 && this.#size === maxBuckets) this.#addAt(0, count);
    else this.#addOutside(bucket, count);
  }

  /** Adds all durations of another sketch. */
  merge(other: DurationSketch): void {
    if (other.#count === 0) return;
    this.#count += other.#count;
    this.noteLongest(other.#longestMs);
    this.#cover(other.#first, other.#end);
    const offset = other.#first - this.#first;
    for (let index = 0; index < other.#size; index += 1) {
      this.#addAt(Math.max(0, offset + index), other.#counts[index] ?? 0);
    }
  }

  /** Returns a sketch of the same durations. */
  copy(): DurationSketch {
    const copy = new DurationSketch();
    copy.#first = this.#first;
    copy.#counts = this.#counts.slice(0, this.#size);
    copy.#size = this.#size;
    copy.#count = this.#count;
    copy.#longestMs = this.#longestMs;
    return copy;
  }

  /** Releases the memory that is reserved for more buckets. */
  trim(): void {
    this.#counts = this.#counts.slice(0, this.#size);
  }

  /** Removes all durations. */
  clear(): void {
    this.#first = 0;
    this.#size = 0;
    this.#count = 0;
    this.#longestMs = -1;
  }

  /** Returns the bucket of a percentile; `undefined` without durations. */
  bucketAt(share: number): number | undefined {
    if (this.#count === 0) return undefined;
    let rank = share * (this.#count - 1);
    let last = this.#first;
    for (let index = 0; index < this.#size; index += 1) {
      const count = this.#counts[index] ?? 0;
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

  /** Returns a percentile of both sketches together in milliseconds; `null` without durations. */
  percentileWith(other: DurationSketch | undefined, share: number): number | null {
    if (other === undefined || other.#count === 0) return this.percentile(share);
    if (this.#count === 0) return other.percentile(share);
    const end = Math.max(this.#end, other.#end);
    let rank = share * (this.#count + other.#count - 1);
    let last = Math.min(this.#first, other.#first);
    for (let bucket = last; bucket < end; bucket += 1) {
      const count = this.#countOf(bucket) + other.#countOf(bucket);
      if (count === 0) continue;
      rank -= count;
      last = bucket;
      if (rank < 0) break;
    }
    // Both together may span more buckets than one sketch has.
    return durationOfBucket(Math.max(last, end - maxBuckets));
  }

  /** Returns the percentiles of the durations, none above the longest one. */
  durations(): Durations {
    if (this.#count === 0) return { p50: null, p95: null, p99: null, max: null };
    const upTo = this.#longestMs === -1 ? Number.POSITIVE_INFINITY : this.#longestMs;
    const at = (share: number): number => Math.min(this.percentile(share) ?? 0, upTo);
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: upTo === Number.POSITIVE_INFINITY ? at(1) : upTo };
  }

  get #end(): number {
    return this.#first + this.#size;
  }

  #countOf(bucket: number): number {
    const index = bucket - this.#first;
    return index < 0 || index >= this.#size ? 0 : (this.#counts[index] ?? 0);
  }

  #addOutside(bucket: number, count: number): void {
    this.#cover(bucket, bucket + 1);
    this.#addAt(Math.max(0, bucket - this.#first), count);
  }

  /** Extends the buckets to those from `first` to `end`, as far as there is room below the highest one. */
  #cover(first: number, end: number): void {
    const counts = this.#counts;
    const isEmpty = this.#size === 0;
    const newEnd = isEmpty ? end : Math.max(this.#end, end);
    const newFirst = Math.max(isEmpty ? first : Math.min(this.#first, first), newEnd - maxBuckets);
    const below = isEmpty ? 0 : this.#moveTo(newFirst);
    this.#first = newFirst;
    while (this.#end < newEnd) {
      counts[this.#size] = 0;
      this.#size += 1;
    }
    if (below > 0) this.#addAt(0, below);
  }

  /** Moves the counts to their places from the bucket `first` on. Returns the sum of those below it. */
  #moveTo(first: number): number {
    const counts = this.#counts;
    const shift = this.#first - first;
    let below = 0;
    if (shift > 0) {
      for (let index = this.#size - 1; index >= 0; index -= 1) counts[index + shift] = counts[index] ?? 0;
      counts.fill(0, 0, shift);
    } else {
      for (let index = 0; index < this.#size; index += 1) {
        const count = counts[index] ?? 0;
        if (index + shift < 0) below += count;
        else counts[index + shift] = count;
      }
    }
    this.#size = Math.max(0, this.#size + shift);
    return below;
  }

  #addAt(index: number, count: number): void {
    this.#counts[index] = (this.#counts[index] ?? 0) + count;
  }
}

/** Upper bounds of the counts of {@link DurationCounts} in milliseconds. The last count has none. */
export const durationBoundsMs: readonly number[] = [
  1,
  5,
  10,
  25,
  50,
  100,
  250,
  500,
  1_000,
  2_500,
  5_000,
  10_000,
  30_000,
  minuteMs,
  5 * minuteMs,
  30 * minuteMs,
  120 * minuteMs,
  24 * 60 * minuteMs,
];

interface Place {
  /** Index of the count. */
  readonly index: number;
  /** Duration that stands for the bucket. */
  readonly ms: number;
}

const lowest = durationBucket(0);
const places = Array.from({ length: durationBucket(durationBoundsMs.at(-1) ?? 0) - lowest + 1 }, (_, index) =>
  findPlace(lowest + index),
);

function findPlace(bucket: number): Place {
  const ms = durationOfBucket(bucket);
  const index = durationBoundsMs.findIndex((bound) => ms <= bound);
  return { index: index === -1 ? durationBoundsMs.length : index, ms };
}

const unitsPerMs = 1_000;

/** Counts of durations that never decrease, from the buckets of `durationBucket`. */
export class DurationTotals {
  readonly #counts = new Float64Array(durationBoundsMs.length + 1);
  #sumMs = 0;

  /** Adds `count` durations of one bucket. */
  add(bucket: number, count: number): void {
    const { index, ms } = places[bucket - lowest] ?? findPlace(bucket);
    this.#counts[index] = (this.#counts[index] ?? 0) + count;
    this.#sumMs += ms * count;
  }

  /** Returns the counts so far. */
  counts(): DurationCounts {
    return { counts: [...this.#counts], sumMs: this.#sumMs };
  }

  /** Writes the counts and their sum. */
  write(writer: { write(value: number): void }): void {
    const wholeMs = Math.floor(this.#sumMs);
    writer.write(Math.min(wholeMs, Number.MAX_SAFE_INTEGER));
    writer.write(Math.round((this.#sumMs - wholeMs) * unitsPerMs));
    for (const count of this.#counts) writer.write(count);
  }

  /** Reads what `write` has written. */
  read(reader: { next(): number }): void {
    this.#sumMs = reader.next() + reader.next() / unitsPerMs;
    for (let index = 0; index < this.#counts.length; index += 1) this.#counts[index] = reader.next();
  }
}
