/**
 * Periods as text, which every store can hold and which takes one byte per character in memory. A number is one character
 * of base 64 per 5 bits, the lowest first; all but the last have the sixth bit set.
 *
 * @module
 */
import { DurationSketch } from './durations.js';
import { type ClosedMinutes, type ClosedPeriod, periodKinds, type RecentMinutes } from './periods.js';
import { periodCounters } from './stats.js';

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const codeOfDigit = Buffer.from(digits, 'latin1');
const digitOfCode = new Uint8Array(128);
for (const [digit, code] of codeOfDigit.entries()) digitOfCode[code] = digit;

const base = 32;
// 2^55: what something else has written cannot become infinite.
const maxDigits = 11;

/** Writes numbers from 0 to `Number.MAX_SAFE_INTEGER`. */
export class NumberWriter {
  #bytes = Buffer.alloc(1_024);
  #length = 0;

  /** Writes a whole number. */
  write(value: number): void {
    this.#reserve(maxDigits);
    let rest = value;
    for (; rest >= base; rest = Math.floor(rest / base)) this.#writeDigit(base + (rest % base));
    this.#writeDigit(rest);
  }

  /** Writes the numbers of a text that another writer returned. */
  writeText(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      this.#reserve(1);
      this.#bytes[this.#length] = text.charCodeAt(at);
      this.#length += 1;
    }
  }

  /** Returns the text of the numbers since the last call. */
  take(): string {
    const text = this.#bytes.toString('latin1', 0, this.#length);
    this.#length = 0;
    return text;
  }

  #reserve(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
  }

  #writeDigit(digit: number): void {
    this.#bytes[this.#length] = codeOfDigit[digit] ?? 0;
    this.#length += 1;
  }
}

/** Reads numbers that a {@link NumberWriter} has written. What is not a digit counts as 0, as do numbers after the end. */
export class NumberReader {
  readonly #text: string;
  #at = 0;

  /** @param text what a writer returned */
  constructor(text: string) {
    this.#text = text;
  }

  /** Every number was read. */
  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Position in the text. */
  get at(): number {
    return this.#at;
  }

  /** Returns the text from a position to the current one. */
  textFrom(start: number): string {
    return this.#text.slice(start, this.#at);
  }

  /** Returns the next number; 0 at the end. */
  next(): number {
    let value = 0;
    for (let unit = 1, count = 0; count < maxDigits && this.#at < this.#text.length; unit *= base, count += 1) {
      const digit = digitOfCode[this.#text.charCodeAt(this.#at)] ?? 0;
      this.#at += 1;
      if (digit < base) return value + digit * unit;
      value += (digit - base) * unit;
    }
    return value;
  }
}

const maxPeriods = Math.max(...Object.values(periodKinds).map(({ length }) => length));

/** Period that is written, with its waiting times and durations or without. */
export interface StoredPeriod extends ClosedPeriod {
  readonly durations: PackedDurations | undefined;
}

/** Period in which counts are added up. */
export class OpenPeriod {
  readonly period: number;
  readonly counts: number[] = periodCounters.map(() => 0);
  readonly wait: DurationSketch = new DurationSketch();
  readonly duration: DurationSketch = new DurationSketch();

  constructor(period: number) {
    this.period = period;
  }

  /** Returns a period that is open again. */
  static of({ period, counts, durations }: StoredPeriod): OpenPeriod {
    const open = new OpenPeriod(period);
    open.addCounts(counts);
    durations?.addTo(open.wait, open.duration);
    return open;
  }

  addCounts(counts: readonly number[]): void {
    for (const [index, count] of counts.entries()) this.counts[index] = (this.counts[index] ?? 0) + count;
  }

  add({ counts, wait, duration }: OpenPeriod): void {
    this.addCounts(counts);
    this.wait.merge(wait);
    this.duration.merge(duration);
    this.wait.trim();
    this.duration.trim();
  }

  closed(): ClosedPeriod {
    const { period, counts, wait, duration } = this;
    return { period, counts, waitBucket: wait.bucketAt(0.95), durationBucket: duration.bucketAt(0.95) };
  }

  stored(): StoredPeriod {
    return { ...this.closed(), durations: PackedDurations.of(this.wait, this.duration) };
  }
}

const flags = { failed: 1, rare: 2, buckets: 4, durations: 8, gap: 16 } as const;
// Buckets of durations below a millisecond are negative, down to -34. 0 is none.
const bucketOffset = 36;
// One text is written after the other.
const textWriter = new NumberWriter();

/** Returns periods as text, the newest one first. */
export function packPeriods(periods: readonly StoredPeriod[]): string {
  writePeriods(textWriter, periods);
  return textWriter.take();
}

/** Returns the periods of a text that {@link packPeriods} returned. */
export function unpackPeriods(text: string): Generator<StoredPeriod> {
  return readPeriods(new NumberReader(text));
}

/**
 * Returns a text of periods with one more. A period that is not later than the newest one, because a clock was set back,
 * becomes part of that one.
 *
 * @param length number of periods that the text has at most
 * @param keptDurations number of periods that retain their waiting times and durations
 */
export function addPeriod(text: string, added: OpenPeriod, length: number, keptDurations: number): string {
  const periods = [...unpackPeriods(text)];
  const [newest] = periods;
  let latest = added;
  if (newest !== undefined && newest.period >= added.period) {
    periods.shift();
    latest = OpenPeriod.of(newest);
    latest.add(added);
  }
  const retained = [latest.stored(), ...periods.filter(({ period }) => period > latest.period - length)];
  const lastWithout = latest.period - keptDurations;
  return packPeriods(retained.map((each) => (each.period > lastWithout ? each : withoutDurations(each))));
}

/** Returns a period without its durations. */
export function withoutDurations(period: StoredPeriod): StoredPeriod {
  return period.durations === undefined ? period : { ...period, durations: undefined };
}

/** Writes periods, the newest one first. */
export function writePeriods(writer: NumberWriter, periods: readonly StoredPeriod[]): void {
  writer.write(periods.length);
  let expected = periods[0]?.period ?? 0;
  writer.write(expected);
  for (const { period, counts, waitBucket, durationBucket, durations } of periods) {
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
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

/** Reads periods that {@link writePeriods} has written, the newest one first. */
export function* readPeriods(reader: NumberReader): Generator<StoredPeriod> {
  // Something else may have written the text.
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

/** Returns the sums of packed minutes, as far as they are part of the last ones. @param sums must be empty */
export function sumMinutes(minutes: string, sums: RecentMinutes): ClosedMinutes {
  for (const { period, counts, durations } of unpackPeriods(minutes)) {
    if (period < sums.first) break;
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
    sums.addCounts(period, received, completed, failed, cancelled, retried);
    if (period >= sums.firstWithDurations) durations?.addTo(sums.waits, sums.durations);
  }
  return sums.takeClosed();
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
