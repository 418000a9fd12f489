import { DurationSketch } from '../../statistics/duration-sketch.js';
import { type PeriodKind, type PeriodRecord, periodCounters } from '../../statistics/periods.js';
import type { RecentMinutes } from '../../statistics/recent-minutes.js';
import { PackedDurations } from './packed-durations.js';
import { PeriodRing, readCounts } from './period-ring.js';

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
export class PeriodSeries {
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
export class MinuteSeries {
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
