import type { DurationSketch } from './durations.js';
import { NumberReader, NumberWriter } from './packed-numbers.js';
import type { RecentMinutes } from './periods.js';

/** Period that is over, without its durations. */
export interface ClosedPeriod {
  readonly period: number;
  /** In the order of `periodCounters`. */
  readonly counts: readonly number[];
  /** Buckets of the 95th percentiles. */
  readonly waitBucket: number | undefined;
  readonly durationBucket: number | undefined;
}

/** Period that was read, with its waiting times and durations if it was written with them. */
export interface ReadPeriod extends ClosedPeriod {
  readonly durations: PackedDurations | undefined;
}

const flags = { failed: 1, rare: 2, buckets: 4, durations: 8, gap: 16 } as const;
// Buckets of durations below a millisecond are negative, down to -34. 0 is none.
const bucketOffset = 36;

/** Writes periods that are over, the newest one first, up to one without `limit`. */
export function writePeriods(
  writer: NumberWriter,
  periods: readonly ClosedPeriod[],
  durationsOf: (period: number) => PackedDurations | undefined,
): void {
  writer.write(periods.length);
  let expected = periods[0]?.period ?? 0;
  writer.write(expected);
  for (const { period, counts, waitBucket, durationBucket } of periods) {
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
    const durations = durationsOf(period);
    const gap = expected - period;
    const hasBuckets = waitBucket !== undefined || durationBucket !== undefined;
    writer.write(
      (failed > 0 ? flags.failed : 0) +
        (cancelled > 0 || retried > 0 ? flags.rare : 0) +
        (hasBuckets ? flags.buckets : 0) +
        (durations === undefined ? 0 : flags.durations) +
        (gap > 0 ? flags.gap : 0),
    );
    if (gap > 0) writer.write(gap);
    writer.write(received);
    writer.write(completed);
    if (failed > 0) writer.write(failed);
    if (cancelled > 0 || retried > 0) {
      writer.write(cancelled);
      writer.write(retried);
    }
    if (hasBuckets) {
      writer.write(waitBucket === undefined ? 0 : Math.max(1, waitBucket + bucketOffset));
      writer.write(durationBucket === undefined ? 0 : Math.max(1, durationBucket + bucketOffset));
    }
    if (durations !== undefined) durations.writeTo(writer);
    expected = period - 1;
  }
}

/** Reads periods that `writePeriods` has written, the newest one first. @param maxPeriods most that are read */
export function* readPeriods(reader: NumberReader, maxPeriods: number): Generator<ReadPeriod> {
  const count = Math.min(maxPeriods, reader.next());
  let period = reader.next();
  for (let index = 0; index < count && !reader.isAtEnd; index += 1) {
    const head = reader.next();
    if ((head & flags.gap) !== 0) period -= reader.next();
    const received = reader.next();
    const completed = reader.next();
    const failed = (head & flags.failed) === 0 ? 0 : reader.next();
    const isRare = (head & flags.rare) !== 0;
    const counts = [received, completed, failed, isRare ? reader.next() : 0, isRare ? reader.next() : 0];
    const hasBuckets = (head & flags.buckets) !== 0;
    const waitBucket = hasBuckets ? bucketOf(reader.next()) : undefined;
    const durationBucket = hasBuckets ? bucketOf(reader.next()) : undefined;
    const durations = (head & flags.durations) === 0 ? undefined : PackedDurations.read(reader);
    yield { period, counts, waitBucket, durationBucket, durations };
    period -= 1;
  }
}

// Writers are not needed twice at once.
const scratch = new NumberWriter();

function bucketOf(written: number): number | undefined {
  return written === 0 ? undefined : written - bucketOffset;
}

/** Adds the minutes that `writePeriods` has written to sums, as far as they are part of them. */
export function addMinutesTo(sums: RecentMinutes, minutes: string): void {
  for (const { period, counts, durations } of readPeriods(new NumberReader(minutes), Number.POSITIVE_INFINITY)) {
    if (period < sums.first) return;
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
    sums.addCounts(period, received, completed, failed, cancelled, retried);
    if (period >= sums.firstWithDurations) durations?.addTo(sums.waits, sums.durations);
  }
}

/** Waiting times and durations of a period that is over, as text: typed arrays take more memory beside their contents. */
export class PackedDurations {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static of(wait: DurationSketch, duration: DurationSketch): PackedDurations {
    writeSketch(scratch, wait);
    writeSketch(scratch, duration);
    return new PackedDurations(scratch.take());
  }

  static read(reader: NumberReader): PackedDurations {
    const start = reader.at;
    readSketch(reader, undefined);
    readSketch(reader, undefined);
    return new PackedDurations(reader.textFrom(start));
  }

  /** Adds the waiting times and durations to sketches. */
  addTo(waits: DurationSketch, durations: DurationSketch): void {
    const reader = new NumberReader(this.#text);
    readSketch(reader, waits);
    readSketch(reader, durations);
  }

  writeTo(writer: NumberWriter): void {
    writer.writeText(this.#text);
  }
}

// The longest duration is exact to a microsecond.
const perMs = 1_000;
// The bucket of the longest time that a number holds is 3,536.
const lastBucket = 4_000;

function writeSketch(writer: NumberWriter, sketch: DurationSketch): void {
  const [first = 0, ...counts] = sketch.toJSON();
  writer.write(counts.length);
  if (counts.length === 0) return;
  const { longestMs } = sketch;
  writer.write(longestMs < 0 ? 0 : Math.min(Math.round(longestMs * perMs) + 1, Number.MAX_SAFE_INTEGER));
  writer.write(first + bucketOffset);
  for (const count of counts) writer.write(count);
}

/** Adds a sketch that `writeSketch` has written to another one. */
function readSketch(reader: NumberReader, sum: DurationSketch | undefined): void {
  const length = reader.next();
  if (length === 0) return;
  const longest = reader.next();
  const first = Math.min(reader.next() - bucketOffset, lastBucket);
  for (let index = 0; index < length && !reader.isAtEnd; index += 1) {
    const count = reader.next();
    if (count > 0) sum?.addBucket(Math.min(first + index, lastBucket), count);
  }
  if (longest > 0) sum?.noteLongest((longest - 1) / perMs);
}
