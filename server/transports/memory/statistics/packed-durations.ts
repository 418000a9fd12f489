import type { DurationSketch } from '../../statistics/duration-sketch.js';

const continued = 128;
// Longer than two sketches of 40 buckets with counts of 8 bytes.
const scratch = Buffer.alloc(1_024);

/**
 * Waiting times and durations of a period that is over, one byte per bucket and more for counts from 128 on. The bytes
 * are characters of a string, because small typed arrays take more memory beside their contents.
 */
export class PackedDurations {
  readonly period: number;
  readonly #bytes: string;

  constructor(period: number, wait: DurationSketch, duration: DurationSketch) {
    this.period = period;
    this.#bytes = scratch.toString('latin1', 0, writeSketch(writeSketch(0, wait), duration));
  }

  /** Adds the waiting times and durations to sketches. */
  addTo(waits: DurationSketch, durations: DurationSketch): void {
    readSketch(this.#bytes, readSketch(this.#bytes, 0, waits), durations);
  }
}

/** Writes the number of buckets, the lowest bucket and the counts. Returns the end of the bytes. */
function writeSketch(start: number, sketch: DurationSketch): number {
  const numbers = sketch.toJSON();
  const first = numbers[0] ?? 0;
  let at = writeNumber(start, numbers.length - 1);
  // Buckets of durations below a millisecond are negative.
  at = writeNumber(at, first < 0 ? -2 * first - 1 : 2 * first);
  for (let index = 1; index < numbers.length; index += 1) at = writeNumber(at, numbers[index] ?? 0);
  return at;
}

function writeNumber(start: number, value: number): number {
  let at = start;
  let rest = value;
  for (; rest >= continued; rest = Math.floor(rest / continued)) {
    scratch[at] = continued + (rest % continued);
    at += 1;
  }
  scratch[at] = rest;
  return at + 1;
}

/** Adds the sketch at `start` to another one. Returns the end of its bytes. */
function readSketch(bytes: string, start: number, sum: DurationSketch): number {
  let at = start;
  const next = (): number => {
    let value = 0;
    for (let unit = 1; ; unit *= continued) {
      const byte = bytes.charCodeAt(at);
      at += 1;
      if (byte >= continued) value += (byte - continued) * unit;
      else return value + byte * unit;
    }
  };
  const buckets = next();
  const first = next();
  const end = (first % 2 === 0 ? first / 2 : -(first + 1) / 2) + buckets;
  for (let bucket = end - buckets; bucket < end; bucket += 1) {
    const count = next();
    if (count > 0) sum.addBucket(bucket, count);
  }
  return at;
}
