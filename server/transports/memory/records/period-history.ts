import { DurationSketch, durationBucket } from '../../statistics/duration-sketch.js';
import { DurationTotals } from '../../statistics/duration-totals.js';
import {
  buildHistory,
  lastPeriods,
  noCounts,
  type PeriodKind,
  type PeriodRecord,
  periodCounters,
  periodKinds,
  periodOf,
  type RangePeriods,
  recentFives,
  recentMinutes,
  sumPeriods,
  trendMinutes,
} from '../../statistics/periods.js';
import type {
  Histories,
  PeriodCounts,
  PeriodDurations,
  RecentActivity,
  TypeDurations,
} from '../../statistics/stats.js';
import { PeriodRing, readCounts } from './period-ring.js';

const { minutes, fiveMinutes, hours } = periodKinds;

/** Period in which counts are added up. */
export class OpenPeriod {
  readonly period: number;
  readonly counts: Uint32Array;
  readonly wait: DurationSketch;
  readonly duration: DurationSketch;

  constructor(
    period: number,
    counts: Uint32Array = new Uint32Array(periodCounters.length),
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
  /** The current period last. */
  #recent: OpenPeriod[] = [];

  /** @param keptSketches number of periods with sketches, the current one included */
  constructor(kind: PeriodKind, keptSketches: number) {
    this.#ring = new PeriodRing(kind);
    this.#keptSketches = keptSketches;
  }

  /** Returns the period, which is the current one from now on unless there is a later one. */
  open(period: number): OpenPeriod {
    const current = this.#recent.at(-1);
    // A clock that is set back must not reopen a period.
    if (current !== undefined && current.period >= period) return current;
    if (current !== undefined) this.#ring.add(current.period, current.counts, current.wait, current.duration);
    const opened = new OpenPeriod(period);
    this.#recent = [...this.#recent.filter((each) => each.period > period - this.#keptSketches), opened];
    return opened;
  }

  /** Adds a period that is over. */
  add(period: OpenPeriod): void {
    this.#recent = [...this.#recent.filter((each) => each.period > period.period - this.#keptSketches), period];
    this.#ring.add(period.period, period.counts, period.wait, period.duration);
  }

  /** Makes a saved period the current one. */
  restore(saved: OpenPeriod): void {
    this.open(saved.period).add(saved);
  }

  get(period: number): PeriodRecord | undefined {
    const current = this.#recent.at(-1);
    return current?.period === period ? current.record() : this.#ring.get(period);
  }

  /** Returns the periods with sketches from `first` on. */
  since(first: number): readonly OpenPeriod[] {
    return this.#recent.filter(({ period }) => period >= first);
  }
}

type Counter = (typeof periodCounters)[number];
const counterIndex = Object.fromEntries(periodCounters.map((name, index) => [name, index])) as Record<Counter, number>;

/** Receives a period of a history. */
export type PeriodListener = (period: OpenPeriod, kind: keyof Histories) => void;

/** Counts, waiting times and durations of one type by the minute, 5 minutes and hour, in at most 20 kB. */
export class PeriodHistory {
  readonly #total: PeriodHistory | undefined;
  readonly #onChange: PeriodListener | undefined;
  readonly #minutes = new PeriodSeries(minutes, recentMinutes - 1);
  readonly #fives = new PeriodSeries(fiveMinutes, recentFives);
  readonly #hours = new PeriodSeries(hours, 1);
  #open = new OpenPeriod(-1);
  readonly #waitTotals = new DurationTotals();
  readonly #durationTotals = new DurationTotals();

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
      this.#open = period;
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

  recent(now: number): RecentActivity {
    const last = this.#lastMinutes(now);
    const trend = lastPeriods(periodOf(now, minutes), trendMinutes).map(
      (minute) => this.#minute(minute)?.counts ?? noCounts,
    );
    return {
      last5Min: sumPeriods(last.map(({ counts }) => readCounts(counts))),
      waitP95Ms: merged(last, ({ wait }) => wait).percentile(0.95),
      durationP95Ms: merged(last, ({ duration }) => duration).percentile(0.95),
      minutes: {
        received: trend.map(({ received }) => received),
        failed: trend.map(({ failed, cancelled }) => failed - cancelled),
      },
    };
  }

  histories(now: number): Histories {
    return {
      minutes: buildHistory(minutes, now, (minute) => this.#minute(minute)),
      fiveMinutes: buildHistory(fiveMinutes, now, (five) => this.#coarse(this.#fives, fiveMinutes, five)),
      hours: buildHistory(hours, now, (hour) => this.#coarse(this.#hours, hours, hour)),
    };
  }

  waits(now: number): PeriodDurations {
    return this.#durations(now, ({ wait }) => wait);
  }

  durations(now: number): PeriodDurations {
    return this.#durations(now, ({ duration }) => duration);
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

  #durations(now: number, of: (period: OpenPeriod) => DurationSketch): PeriodDurations {
    const firstFive = periodOf(now, fiveMinutes) - recentFives + 1;
    const lastHour = [...this.#fives.since(firstFive), ...(this.#isOpenSince(firstFive) ? [this.#open] : [])];
    return {
      last5Min: merged(this.#lastMinutes(now), of).durations(),
      lastHour: merged(lastHour, of).durations(),
    };
  }

  #isOpenSince(five: number): boolean {
    return periodOf(this.#open.period * minutes.stepMs, fiveMinutes) >= five;
  }

  /** Minutes of `last5Min` with events. */
  #lastMinutes(now: number): readonly OpenPeriod[] {
    const first = periodOf(now, minutes) - recentMinutes + 1;
    return [...this.#minutes.since(first), ...(this.#open.period >= first ? [this.#open] : [])];
  }

  #minute(minute: number): PeriodRecord | undefined {
    return this.#open.period === minute ? this.#open.record() : this.#minutes.get(minute);
  }

  /** Returns a period of 5 minutes or of an hour, with the minute that is still open. */
  #coarse(series: PeriodSeries, kind: PeriodKind, period: number): PeriodRecord | undefined {
    if (periodOf(this.#open.period * minutes.stepMs, kind) !== period) return series.get(period);
    const sum = new OpenPeriod(period);
    for (const part of [...series.since(period), this.#open]) sum.add(part);
    return sum.record();
  }

  #current(now: number): OpenPeriod {
    const minute = Math.floor(now / minutes.stepMs);
    // A clock that is set back counts in the latest minute.
    if (minute > this.#open.period) this.#close(minute);
    return this.#open;
  }

  #close(next: number): void {
    const closed = this.#open;
    this.#open = new OpenPeriod(next);
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

function merged(periods: readonly OpenPeriod[], of: (period: OpenPeriod) => DurationSketch): DurationSketch {
  const sum = new DurationSketch();
  for (const period of periods) sum.merge(of(period));
  return sum;
}
