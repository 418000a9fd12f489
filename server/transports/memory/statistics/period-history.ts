import { durationBucket } from '../../statistics/duration-sketch.js';
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
} from '../../statistics/periods.js';
import { type ClosedMinutes, noActivity, RecentMinutes } from '../../statistics/recent-minutes.js';
import type { EventMetrics, Histories, PeriodCounts, RecentActivity, TypeDurations } from '../../statistics/stats.js';
import { MinuteSeries, OpenPeriod, PeriodSeries } from './period-series.js';

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
