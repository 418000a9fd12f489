import { DurationTotals, durationBucket } from './durations.js';
import { NumberReader, NumberWriter } from './packed-numbers.js';
import { ClosedPeriods, OpenPeriod, PeriodSeries } from './period-series.js';
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
// Histories are packed one after the other.
const writer = new NumberWriter();

type Counter = (typeof periodCounters)[number];
const counterIndex = Object.fromEntries(periodCounters.map((name, index) => [name, index])) as Record<Counter, number>;

/** Receives a period of a history. */
export type PeriodListener = (period: OpenPeriod, kind: keyof Histories) => void;

/** Durations that a store has counted in a minute. */
export interface CountedDurations {
  /** Numbers of durations by their buckets. */
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
  /** -1 if it is not known. */
  readonly longestMs: number;
}

/** What a store has counted in a minute. */
export interface CountedMinute {
  /** In the order of `periodCounters`. */
  readonly counts: readonly number[];
  readonly waits: CountedDurations;
  readonly durations: CountedDurations;
}

/** History as a store has it. Each text is empty if there is nothing. */
export interface PackedHistory {
  /** The last hour by the minute. Readers of many types need nothing else. */
  readonly minutes: string;
  /** Durations since the creation, the last periods of 5 minutes and the current hour with their durations. */
  readonly latest: string;
  /** Periods of 5 minutes and hours that were over when the last hour began. */
  readonly past: string;
}

/**
 * Counts, waiting times and durations of one type by the minute, 5 minutes and hour. A busy type takes at most 25 kB;
 * 30 kB if its durations span three decades and it has 65,536 events per 5 minutes.
 */
export class PeriodHistory {
  readonly #total: PeriodHistory | undefined;
  readonly #onChange: PeriodListener | undefined;
  readonly #minutes = new ClosedPeriods(minutes, recentMinutes - 1);
  readonly #fives = new PeriodSeries(fiveMinutes, recentFives);
  readonly #hours = new PeriodSeries(hours, 1);
  #open = new OpenPeriod(-1);
  /** End of the open minute in epoch milliseconds. */
  #openUntil = 0;
  /** An hour has ended since the history was packed. */
  #hasNewPast = false;
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

  /** Returns the history of a store. `past` may be left out if no hour ends, and if nobody reads it. */
  static unpack({
    minutes: lastHour,
    latest,
    past = '',
  }: Omit<PackedHistory, 'past'> & { past?: string }): PeriodHistory {
    const history = new PeriodHistory();
    const reader = new NumberReader(past);
    history.#fives.readPast(reader);
    history.#hours.readPast(reader);
    const latestReader = new NumberReader(latest);
    for (const totals of [history.#waitTotals, history.#durationTotals]) totals.read(latestReader);
    history.#fives.readLatest(latestReader);
    history.#hours.readLatest(latestReader);
    history.#minutes.read(new NumberReader(lastHour));
    return history;
  }

  /** Closes the minute, and returns the history. `past` is left out if it is as it was when the history was unpacked. */
  pack(): Omit<PackedHistory, 'past'> & { readonly past: string | undefined } {
    this.#close(-1);
    this.#minutes.write(writer);
    const lastHour = writer.take();
    for (const totals of [this.#waitTotals, this.#durationTotals]) totals.write(writer);
    this.#fives.writeLatest(writer);
    this.#hours.writeLatest(writer);
    const latest = writer.take();
    if (!this.#hasNewPast) return { minutes: lastHour, latest, past: undefined };
    this.#hasNewPast = false;
    this.#fives.writePast(writer);
    this.#hours.writePast(writer);
    return { minutes: lastHour, latest, past: writer.take() };
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
    this.#addWait(durationBucket(waitMs), waitMs, now);
  }

  countDuration(durationMs: number, now: number): void {
    this.#addDuration(durationBucket(durationMs), durationMs, now);
  }

  #addWait(bucket: number, waitMs: number, now: number): void {
    const minute = this.#current(now);
    minute.wait.addBucket(bucket, 1);
    minute.wait.noteLongest(waitMs);
    this.#waitTotals.add(bucket, 1);
    this.#onChange?.(minute, 'minutes');
    if (this.#total !== undefined) this.#total.#addWait(bucket, waitMs, now);
  }

  #addDuration(bucket: number, durationMs: number, now: number): void {
    const minute = this.#current(now);
    minute.duration.addBucket(bucket, 1);
    minute.duration.noteLongest(durationMs);
    this.#durationTotals.add(bucket, 1);
    this.#onChange?.(minute, 'minutes');
    if (this.#total !== undefined) this.#total.#addDuration(bucket, durationMs, now);
  }

  /** Adds what a store has counted in a minute; minutes in ascending order. */
  add(minute: number, { counts, waits, durations }: CountedMinute): void {
    const open = this.#current(minute * minutes.stepMs);
    for (const [index, count] of counts.entries()) open.counts[index] = (open.counts[index] ?? 0) + count;
    for (const [bucket, count] of waits.buckets) {
      open.wait.addBucket(bucket, count);
      this.#waitTotals.add(bucket, count);
    }
    for (const [bucket, count] of durations.buckets) {
      open.duration.addBucket(bucket, count);
      this.#durationTotals.add(bucket, count);
    }
    open.wait.noteLongest(waits.longestMs);
    open.duration.noteLongest(durations.longestMs);
  }

  /**
   * Returns the same object until something is counted or the minute ends.
   *
   * @param sums of the minute of `now`, for readers of many histories; it must be empty
   */
  recent(now: number, sums: RecentMinutes = new RecentMinutes(periodOf(now, minutes))): RecentActivity {
    if (this.#recent !== undefined && this.#readFirst === sums.first) return this.#recent;
    const { period, counts, wait, duration } = this.#open;
    if (Math.max(period, this.#minutes.newest) < sums.first) {
      this.#closed = undefined;
      this.#recent = undefined;
      return noActivity;
    }
    if (this.#closed === undefined || this.#readFirst !== sums.first) this.#closed = this.#sumClosed(sums);
    sums.addClosed(this.#closed);
    sums.addCounts(period, counts[0] ?? 0, counts[1] ?? 0, counts[2] ?? 0, counts[3] ?? 0, counts[4] ?? 0);
    this.#readFirst = sums.first;
    this.#recent = period < sums.firstWithDurations ? sums.take() : sums.take(wait, duration);
    return this.#recent;
  }

  #sumClosed(sums: RecentMinutes): ClosedMinutes {
    this.#minutes.addCountsTo(sums);
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
    return { waitMs: this.#waitTotals.counts(), durationMs: this.#durationTotals.counts() };
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
    const hour = this.#hours.newest;
    const at = closed.period * minutes.stepMs;
    this.#minutes.add(closed);
    for (const kind of ['fiveMinutes', 'hours'] as const) {
      const period = this.#series(kind).open(periodOf(at, periodKinds[kind]));
      period.add(closed);
      this.#onChange?.(period, kind);
    }
    if (hour !== undefined && this.#hours.newest !== hour) this.#hasNewPast = true;
  }

  #series(kind: 'fiveMinutes' | 'hours'): PeriodSeries {
    return kind === 'fiveMinutes' ? this.#fives : this.#hours;
  }
}
