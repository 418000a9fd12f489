import { DurationSketch, DurationTotals, durationBucket } from './durations.js';
import {
  buildHistory,
  type ClosedMinutes,
  lastPeriods,
  noActivity,
  noCounts,
  type PeriodKind,
  type PeriodRecord,
  periodKinds,
  periodOf,
  type RangePeriods,
  RecentMinutes,
  recentFives,
  recentMinutes,
  sumPeriods,
} from './periods.js';
import {
  type EventMetrics,
  type Histories,
  type PeriodCounts,
  periodCounters,
  type RecentActivity,
  type TypeDurations,
} from './stats.js';

const { minutes, fiveMinutes, hours } = periodKinds;

type Counter = (typeof periodCounters)[number];
const counterIndex = Object.fromEntries(periodCounters.map((name, index) => [name, index])) as Record<Counter, number>;

/** Receives a period of a history. */
export type PeriodListener = (period: OpenPeriod, kind: keyof Histories) => void;

/**
 * Counts, waiting times and durations of one type by the minute, 5 minutes and hour. A busy type takes at most 20 kB;
 * 23 kB if its durations span three decades and it has 65,536 events per 5 minutes.
 */
export class PeriodHistory {
  readonly #total: PeriodHistory | undefined;
  readonly #onChange: PeriodListener | undefined;
  readonly #minutes = new MinuteSeries(minutes, recentMinutes - 1);
  readonly #fives = new PeriodSeries(fiveMinutes, recentFives);
  readonly #hours = new PeriodSeries(hours, 1);
  #open = new OpenPeriod(-1);
  /** End of the open minute in epoch milliseconds. */
  #openUntil = 0;
  readonly #waitTotals = new DurationTotals();
  readonly #durationTotals = new DurationTotals();
  /** First minute of the trend that was read last. */
  #readFirst = -1;
  /** Sums of the minutes before the open one; `undefined` if the open one is another since the last read. */
  #closed: ClosedMinutes | undefined;
  /** Result of the last read; `undefined` if something was counted since. */
  #recent: RecentActivity | undefined;

  /**
   * @param total history of all types, which counts the same events
   * @param onChange receives each period with new counts
   */
  constructor(total?: PeriodHistory, onChange?: PeriodListener) {
    this.#total = total;
    this.#onChange = onChange;
  }

  /** Adds a saved period; those of a kind in ascending order. */
  restore(kind: keyof Histories, period: OpenPeriod): void {
    if (kind === 'minutes') {
      if (this.#open.period !== -1) this.#minutes.add(this.#open);
      this.#setOpen(period);
    } else this.#series(kind).restore(period);
  }

  count(counter: Counter, now: number): void {
    const minute = this.#current(now);
    const index = counterIndex[counter];
    minute.counts[index] = (minute.counts[index] ?? 0) + 1;
    this.#onChange?.(minute, 'minutes');
    this.#total?.count(counter, now);
  }

  countWait(waitMs: number, now: number): void {
    this.#addWait(durationBucket(waitMs), now);
  }

  countDuration(durationMs: number, now: number): void {
    this.#addDuration(durationBucket(durationMs), now);
  }

  #addWait(bucket: number, now: number): void {
    const minute = this.#current(now);
    minute.wait.addBucket(bucket, 1);
    this.#waitTotals.add(bucket, 1);
    this.#onChange?.(minute, 'minutes');
    if (this.#total !== undefined) this.#total.#addWait(bucket, now);
  }

  #addDuration(bucket: number, now: number): void {
    const minute = this.#current(now);
    minute.duration.addBucket(bucket, 1);
    this.#durationTotals.add(bucket, 1);
    this.#onChange?.(minute, 'minutes');
    if (this.#total !== undefined) this.#total.#addDuration(bucket, now);
  }

  /**
   * Returns the same object until something is counted or the minute ends.
   *
   * @param sums of the minute of `now`, for readers of many histories; it must be empty
   */
  recent(now: number, sums: RecentMinutes = new RecentMinutes(periodOf(now, minutes))): RecentActivity {
    if (this.#recent !== undefined && this.#readFirst === sums.first) return this.#recent;
    const { period, counts, wait, duration } = this.#open;
    if (period < sums.first) {
      this.#closed = undefined;
      this.#recent = undefined;
      return noActivity;
    }
    if (this.#closed === undefined || this.#readFirst !== sums.first) this.#closed = this.#sumClosed(period, sums);
    sums.addClosed(this.#closed);
    sums.addCounts(period, counts[0] ?? 0, counts[1] ?? 0, counts[2] ?? 0, counts[3] ?? 0, counts[4] ?? 0);
    this.#readFirst = sums.first;
    this.#recent = period < sums.firstWithDurations ? sums.take() : sums.take(wait, duration);
    return this.#recent;
  }

  #sumClosed(end: number, sums: RecentMinutes): ClosedMinutes {
    this.#minutes.addCountsTo(sums, end);
    this.#minutes.addDurationsTo(sums.waits, sums.durations, sums.firstWithDurations);
    return sums.takeClosed();
  }

  histories(now: number): Histories {
    return {
      minutes: buildHistory(minutes, now, (minute) => this.#minute(minute)),
      fiveMinutes: buildHistory(fiveMinutes, now, (five) => this.#coarse(this.#fives, fiveMinutes, five)),
      hours: buildHistory(hours, now, (hour) => this.#coarse(this.#hours, hours, hour)),
    };
  }

  /** Returns the percentiles of the waiting times and the durations. */
  durations(now: number): Pick<EventMetrics, 'waitMs' | 'durationMs'> {
    const [last5Min, lastHour] = [this.#last5Min(now), this.#lastHour(now)];
    return {
      waitMs: { last5Min: last5Min.wait.durations(), lastHour: lastHour.wait.durations() },
      durationMs: { last5Min: last5Min.duration.durations(), lastHour: lastHour.duration.durations() },
    };
  }

  /** Returns the durations since the creation of this history. */
  totals(): TypeDurations {
    return { waitMs: this.#waitTotals.read(), durationMs: this.#durationTotals.read() };
  }

  range({ name, from, to }: RangePeriods): PeriodCounts {
    const read = {
      minutes: (period: number) => this.#minute(period),
      fiveMinutes: (period: number) => this.#coarse(this.#fives, fiveMinutes, period),
      hours: (period: number) => this.#coarse(this.#hours, hours, period),
    }[name];
    return sumPeriods(lastPeriods(to, to - from + 1).map((period) => read(period)?.counts ?? noCounts));
  }

  #last5Min(now: number): OpenPeriod {
    const first = periodOf(now, minutes) - recentMinutes + 1;
    const sum = new OpenPeriod(first);
    this.#minutes.addDurationsTo(sum.wait, sum.duration, first);
    if (this.#open.period >= first) sum.add(this.#open);
    return sum;
  }

  #lastHour(now: number): OpenPeriod {
    const first = periodOf(now, fiveMinutes) - recentFives + 1;
    const sum = new OpenPeriod(first);
    this.#fives.addDurationsTo(sum.wait, sum.duration, first);
    if (periodOf(this.#open.period * minutes.stepMs, fiveMinutes) >= first) sum.add(this.#open);
    return sum;
  }

  #minute(minute: number): PeriodRecord | undefined {
    return this.#open.period === minute ? this.#open.record() : this.#minutes.get(minute);
  }

  /** Returns a period of 5 minutes or of an hour, with the minute that is still open. */
  #coarse(series: PeriodSeries, kind: PeriodKind, period: number): PeriodRecord | undefined {
    if (periodOf(this.#open.period * minutes.stepMs, kind) !== period) return series.get(period);
    const sum = new OpenPeriod(period);
    const current = series.current(period);
    if (current !== undefined) sum.add(current);
    sum.add(this.#open);
    return sum.record();
  }

  #current(now: number): OpenPeriod {
    // A clock that is set back counts in the latest minute.
    if (now >= this.#openUntil) this.#close(periodOf(now, minutes));
    this.#recent = undefined;
    return this.#open;
  }

  #setOpen(period: OpenPeriod): void {
    this.#open = period;
    this.#openUntil = (period.period + 1) * minutes.stepMs;
    this.#closed = undefined;
    this.#recent = undefined;
  }

  #close(next: number): void {
    const closed = this.#open;
    this.#setOpen(new OpenPeriod(next));
    if (closed.period === -1) return;
    const at = closed.period * minutes.stepMs;
    this.#minutes.add(closed);
    for (const kind of ['fiveMinutes', 'hours'] as const) {
      const period = this.#series(kind).open(periodOf(at, periodKinds[kind]));
      period.add(closed);
      this.#onChange?.(period, kind);
    }
  }

  #series(kind: 'fiveMinutes' | 'hours'): PeriodSeries {
    return kind === 'fiveMinutes' ? this.#fives : this.#hours;
  }
}

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

  record(): PeriodRecord {
    return {
      counts: readCounts(this.counts),
      waitBucket: this.wait.bucketAt(0.95),
      durationBucket: this.duration.bucketAt(0.95),
    };
  }
}

/** Periods of one length: the current one, the latest ones with their sketches, and the others. */
class PeriodSeries {
  readonly #ring: PeriodRing;
  readonly #keptSketches: number;
  #latest: PackedDurations[] = [];
  #current: OpenPeriod | undefined;

  /** @param keptSketches number of periods with sketches, the current one included */
  constructor(kind: PeriodKind, keptSketches: number) {
    this.#ring = new PeriodRing(kind);
    this.#keptSketches = keptSketches;
  }

  /** Returns the period, which is the current one from now on unless there is a later one. */
  open(period: number): OpenPeriod {
    const current = this.#current;
    // A clock that is set back must not reopen a period.
    if (current !== undefined && current.period >= period) return current;
    if (current !== undefined) {
      this.#ring.add(current.period, current.counts, current.wait, current.duration);
      const first = period - this.#keptSketches + 1;
      this.#latest = this.#latest.filter((each) => each.period >= first);
      if (current.period >= first) {
        this.#latest.push(new PackedDurations(current.period, current.wait, current.duration));
      }
    }
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
    return this.#current?.period === period ? this.#current.record() : this.#ring.get(period);
  }

  /** Adds the waiting times and durations of the periods with sketches from `first` on. */
  addDurationsTo(waits: DurationSketch, durations: DurationSketch, first: number): void {
    for (const each of this.#latest) if (each.period >= first) each.addTo(waits, durations);
    if (this.#current === undefined || this.#current.period < first) return;
    waits.merge(this.#current.wait);
    durations.merge(this.#current.duration);
  }
}

/** Minutes that are over: the latest ones with their sketches, and the others. Readers of many types need them often. */
class MinuteSeries {
  readonly #ring: PeriodRing;
  readonly #keptSketches: number;
  #latest: PackedDurations[] = [];

  /** @param keptSketches number of minutes with sketches */
  constructor(kind: PeriodKind, keptSketches: number) {
    this.#ring = new PeriodRing(kind);
    this.#keptSketches = keptSketches;
  }

  /** Adds a minute that is over. */
  add(minute: OpenPeriod): void {
    const { period, counts, wait, duration } = minute;
    this.#latest = this.#latest.filter((each) => each.period > period - this.#keptSketches);
    this.#latest.push(new PackedDurations(period, wait, duration));
    this.#ring.add(period, counts, wait, duration);
  }

  get(minute: number): PeriodRecord | undefined {
    return this.#ring.get(minute);
  }

  /** Adds the counts of the minutes before one. */
  addCountsTo(sums: RecentMinutes, end: number): void {
    this.#ring.addCountsTo(sums, end);
  }

  /** Adds the waiting times and durations of the minutes with sketches from `first` on. */
  addDurationsTo(waits: DurationSketch, durations: DurationSketch, first: number): void {
    for (const each of this.#latest) if (each.period >= first) each.addTo(waits, durations);
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
  readonly #length: number;
  #newest = -1;
  #counts: CountArray = new Uint16Array(0);
  // Most types neither retry nor cancel.
  #rareCounts: CountArray = new Uint16Array(0);
  #buckets = new Int8Array(0);

  constructor({ length }: PeriodKind) {
    this.#length = length;
  }

  /** Stores a period that is over; periods in ascending order. */
  add(period: number, counts: readonly number[], wait: DurationSketch, duration: DurationSketch): void {
    if (this.#newest === -1) {
      this.#counts = new Uint16Array(this.#length * common);
      this.#buckets = new Int8Array(this.#length * 2).fill(noBucket);
    } else this.#skipTo(period);
    this.#newest = period;
    const slot = period % this.#length;
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
    this.#counts = setCounts(this.#counts, slot * common, received, completed, failed);
    if (cancelled > 0 || retried > 0 || this.#rareCounts.length > 0) {
      if (this.#rareCounts.length === 0) this.#rareCounts = new Uint16Array(this.#length * rare);
      this.#rareCounts = setCounts(this.#rareCounts, slot * rare, cancelled, retried);
    }
    this.#buckets[slot * 2] = Math.min(wait.bucketAt(0.95) ?? noBucket, lastBucket);
    this.#buckets[slot * 2 + 1] = Math.min(duration.bucketAt(0.95) ?? noBucket, lastBucket);
  }

  /** Adds the counts of the periods before `end` that are minutes of `sums`. */
  addCountsTo(sums: RecentMinutes, end: number): void {
    const counts = this.#counts;
    const rareCounts = this.#rareCounts;
    const first = Math.max(sums.first, this.#newest - this.#length + 1);
    for (let period = first; period < end && period <= this.#newest; period += 1) {
      const slot = period % this.#length;
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
    if (period > this.#newest || period <= this.#newest - this.#length) return undefined;
    const slot = period % this.#length;
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

  /** Empties the periods between the newest one and `period`. */
  #skipTo(period: number): void {
    for (let skipped = Math.max(this.#newest, period - this.#length) + 1; skipped < period; skipped += 1) {
      const slot = skipped % this.#length;
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
