import { minuteMs } from '../limits.js';
import { durationBucket, durationOfBucket } from './duration-sketch.js';
import type { DurationCounts } from './stats.js';

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
  read(): DurationCounts {
    return { counts: [...this.#counts], sumMs: this.#sumMs };
  }
}
