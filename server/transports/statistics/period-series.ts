import { DurationSketch } from './durations.js';
import type { NumberReader, NumberWriter } from './packed-numbers.js';
import { type ClosedPeriod, PackedDurations, readPeriods, writePeriods } from './packed-periods.js';
import type { PeriodKind, PeriodRecord, RecentMinutes } from './periods.js';
import { periodCounters } from './stats.js';

const noPeriodCounts: readonly number[] = periodCounters.map(() => 0);

/** Period in which counts are added up. */
export class OpenPeriod {
  readonly period: number;
  readonly counts: number[];
  readonly wait: DurationSketch;
  readonly duration: DurationSketch;

  constructor(
    period: number,
    counts: number[] = noPeriodCounts.slice(),
    wait: DurationSketch = new DurationSketch(),
    duration: DurationSketch = new DurationSketch(),
  ) {
    this.period = period;
    this.counts = counts;
    this.wait = wait;
    this.duration = duration;
  }

  add({ counts, wait, duration }: OpenPeriod): void {
    for (const [index, count] of counts.entries()) this.counts[index] = (this.counts[index] ?? 0) + count;
    this.wait.merge(wait);
    this.duration.merge(duration);
    this.wait.trim();
    this.duration.trim();
  }

  closed(): ClosedPeriod {
    const { period, counts, wait, duration } = this;
    return { period, counts, waitBucket: wait.bucketAt(0.95), durationBucket: duration.bucketAt(0.95) };
  }

  record(): PeriodRecord {
    const { counts, waitBucket, durationBucket } = this.closed();
    return { counts: readCounts(counts), waitBucket, durationBucket };
  }
}

/** Periods of one length that are over: the latest ones with their waiting times and durations, and the others. */
export class ClosedPeriods {
  readonly #ring: PeriodRing;
  readonly #keptDurations: number;
  #latest: { readonly period: number; readonly durations: PackedDurations }[] = [];

  /** @param keptDurations number of periods with waiting times and durations */
  constructor(kind: PeriodKind, keptDurations: number) {
    this.#ring = new PeriodRing(kind);
    this.#keptDurations = keptDurations;
  }

  /** Adds a period. One that is not later than the newest one, because a clock was set back, becomes part of that one. */
  add(period: OpenPeriod): void {
    const later = period.period > this.#ring.newest ? period : this.#withNewest(period);
    this.#ring.add(later.closed());
    this.#keep(later.period, PackedDurations.of(later.wait, later.duration));
  }

  /** Adds a period that was written; its counts only if it is later than the newest one. */
  restore(period: ClosedPeriod & { readonly durations: PackedDurations | undefined }): void {
    if (period.period > this.#ring.newest) this.#ring.add(period);
    if (period.durations !== undefined) this.#keep(period.period, period.durations);
  }

  get(period: number): PeriodRecord | undefined {
    return this.#ring.get(period);
  }

  /** Number of the newest period; -1 if there is none. */
  get newest(): number {
    return this.#ring.newest;
  }

  /** Adds the counts of the periods that are minutes of `sums`. */
  addCountsTo(sums: RecentMinutes): void {
    this.#ring.addCountsTo(sums);
  }

  /** Adds the waiting times and durations of the periods from `first` on that still have them. */
  addDurationsTo(waits: DurationSketch, durations: DurationSketch, first: number): void {
    for (const each of this.#latest) if (each.period >= first) each.durations.addTo(waits, durations);
  }

  /** Writes all periods, the latest ones with durations. */
  write(writer: NumberWriter): void {
    writePeriods(writer, this.#ring.list(), (period) => this.#durationsOf(period));
  }

  /** Reads what `write` or `writeCounts` has written. */
  read(reader: NumberReader): void {
    for (const each of [...readPeriods(reader, this.#ring.length)].reverse()) this.restore(each);
  }

  /** Writes the counts and percentiles of all periods. */
  writeCounts(writer: NumberWriter): void {
    writePeriods(writer, this.#ring.list(), () => undefined);
  }

  /** Writes a period after the newest one, and those that have durations. */
  writeLatest(writer: NumberWriter, open: OpenPeriod | undefined): void {
    const latest = this.#latest.map(({ period }) => this.#ring.closed(period)).reverse();
    const ofOpen = open && PackedDurations.of(open.wait, open.duration);
    writePeriods(writer, open === undefined ? latest : [open.closed(), ...latest], (period) =>
      period === open?.period ? ofOpen : this.#durationsOf(period),
    );
  }

  #durationsOf(period: number): PackedDurations | undefined {
    return this.#latest.find((each) => each.period === period)?.durations;
  }

  #keep(period: number, durations: PackedDurations): void {
    if (this.#keptDurations === 0) return;
    const first = period - this.#keptDurations + 1;
    this.#latest = this.#latest.filter((each) => each.period >= first && each.period !== period);
    this.#latest.push({ period, durations });
  }

  #withNewest(period: OpenPeriod): OpenPeriod {
    const { newest } = this.#ring;
    const sum = new OpenPeriod(newest, [...this.#ring.closed(newest).counts]);
    this.#durationsOf(newest)?.addTo(sum.wait, sum.duration);
    sum.add(period);
    return sum;
  }
}

/** Periods of one length: the current one, and those that are over. */
export class PeriodSeries {
  readonly #closed: ClosedPeriods;
  readonly #kind: PeriodKind;
  #current: OpenPeriod | undefined;

  /** @param keptDurations number of periods with waiting times and durations, the current one included */
  constructor(kind: PeriodKind, keptDurations: number) {
    this.#kind = kind;
    this.#closed = new ClosedPeriods(kind, keptDurations - 1);
  }

  /** Number of the current period; `undefined` if there is none. */
  get newest(): number | undefined {
    return this.#current?.period;
  }

  /** Returns the period, which is the current one from now on unless there is a later one. */
  open(period: number): OpenPeriod {
    const current = this.#current;
    // A clock that is set back must not reopen a period.
    if (current !== undefined && current.period >= period) return current;
    if (current !== undefined) this.#closed.add(current);
    this.#current = new OpenPeriod(period);
    return this.#current;
  }

  /** Makes a saved period the current one. */
  restore(saved: OpenPeriod): void {
    this.open(saved.period).add(saved);
  }

  /** Returns the current period if it is `period`. */
  current(period: number): OpenPeriod | undefined {
    return this.#current?.period === period ? this.#current : undefined;
  }

  get(period: number): PeriodRecord | undefined {
    return this.#current?.period === period ? this.#current.record() : this.#closed.get(period);
  }

  /** Adds the waiting times and durations of the periods from `first` on that still have them. */
  addDurationsTo(waits: DurationSketch, durations: DurationSketch, first: number): void {
    this.#closed.addDurationsTo(waits, durations, first);
    if (this.#current === undefined || this.#current.period < first) return;
    waits.merge(this.#current.wait);
    durations.merge(this.#current.duration);
  }

  /** Writes the periods with waiting times and durations. */
  writeLatest(writer: NumberWriter): void {
    this.#closed.writeLatest(writer, this.#current);
  }

  /** Reads what `writeLatest` has written, after {@link PeriodSeries.readPast}. */
  readLatest(reader: NumberReader): void {
    const [current, ...latest] = readPeriods(reader, this.#kind.length);
    for (const each of latest.reverse()) this.#closed.restore(each);
    if (current === undefined) return;
    this.#current = new OpenPeriod(current.period, [...current.counts]);
    current.durations?.addTo(this.#current.wait, this.#current.duration);
  }

  /** Writes the periods that are over. */
  writePast(writer: NumberWriter): void {
    this.#closed.writeCounts(writer);
  }

  /** Reads what `writePast` has written. */
  readPast(reader: NumberReader): void {
    this.#closed.read(reader);
  }
}

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
  readonly length: number;
  #newest = -1;
  #counts: CountArray = new Uint16Array(0);
  // Most types neither retry nor cancel.
  #rareCounts: CountArray = new Uint16Array(0);
  #buckets = new Int8Array(0);

  constructor({ length }: PeriodKind) {
    this.length = length;
  }

  /** Number of the newest period; -1 if there is none. */
  get newest(): number {
    return this.#newest;
  }

  /** Stores a period that is over: the newest one again, or a later one. */
  add({ period, counts, waitBucket, durationBucket }: ClosedPeriod): void {
    if (this.#newest === -1) {
      this.#counts = new Uint16Array(this.length * common);
      this.#buckets = new Int8Array(this.length * 2).fill(noBucket);
    } else this.#skipTo(period);
    this.#newest = period;
    const slot = period % this.length;
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
    this.#counts = setCounts(this.#counts, slot * common, received, completed, failed);
    if (cancelled > 0 || retried > 0 || this.#rareCounts.length > 0) {
      if (this.#rareCounts.length === 0) this.#rareCounts = new Uint16Array(this.length * rare);
      this.#rareCounts = setCounts(this.#rareCounts, slot * rare, cancelled, retried);
    }
    this.#buckets[slot * 2] = Math.min(waitBucket ?? noBucket, lastBucket);
    this.#buckets[slot * 2 + 1] = Math.min(durationBucket ?? noBucket, lastBucket);
  }

  /** Adds the counts of the periods that are minutes of `sums`. */
  addCountsTo(sums: RecentMinutes): void {
    const counts = this.#counts;
    const rareCounts = this.#rareCounts;
    const first = Math.max(sums.first, this.#newest - this.length + 1);
    for (let period = first; period <= this.#newest; period += 1) {
      const slot = period % this.length;
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
    if (period > this.#newest || period <= this.#newest - this.length) return undefined;
    const { counts, waitBucket, durationBucket } = this.closed(period);
    return { counts: readCounts(counts), waitBucket, durationBucket };
  }

  #countsOf(period: number): readonly number[] {
    const [index, rareIndex] = [(period % this.length) * common, (period % this.length) * rare];
    const [counts, rareCounts] = [this.#counts, this.#rareCounts];
    return [
      counts[index] ?? 0,
      counts[index + 1] ?? 0,
      counts[index + 2] ?? 0,
      rareCounts[rareIndex] ?? 0,
      rareCounts[rareIndex + 1] ?? 0,
    ];
  }

  /** Returns the periods that are not empty, the newest one first. */
  list(): readonly ClosedPeriod[] {
    const found: ClosedPeriod[] = [];
    for (let period = this.#newest; period > Math.max(-1, this.#newest - this.length); period -= 1) {
      const closed = this.closed(period);
      const hasBuckets = closed.waitBucket !== undefined || closed.durationBucket !== undefined;
      if (hasBuckets || period === this.#newest || closed.counts.some((count) => count > 0)) found.push(closed);
    }
    return found;
  }

  /** Returns a period that the ring has. */
  closed(period: number): ClosedPeriod {
    const slot = period % this.length;
    const counts = this.#countsOf(period);
    return { period, counts, waitBucket: this.#bucket(slot * 2), durationBucket: this.#bucket(slot * 2 + 1) };
  }

  #bucket(index: number): number | undefined {
    const bucket = this.#buckets[index] ?? noBucket;
    return bucket === noBucket ? undefined : bucket;
  }

  /** Empties the periods between the newest one and `period`. */
  #skipTo(period: number): void {
    for (let skipped = Math.max(this.#newest, period - this.length) + 1; skipped < period; skipped += 1) {
      const slot = skipped % this.length;
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
