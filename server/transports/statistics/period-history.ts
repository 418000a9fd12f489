import { DurationTotals, durationBucket } from './durations.js';
import {
  addPeriod,
  NumberReader,
  NumberWriter,
  OpenPeriod,
  packPeriods,
  readPeriods,
  sumMinutes,
  unpackPeriods,
  withoutDurations,
  writePeriods,
} from './packed-periods.js';
import {
  buildHistory,
  type ClosedMinutes,
  type ClosedPeriod,
  noActivity,
  type PeriodKind,
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
const fivesPerHour = hours.stepMs / fiveMinutes.stepMs;
/** Number of hours before the current one whose periods of 5 minutes are shown. */
const pastHours = Math.ceil(fiveMinutes.length / fivesPerHour);
// Histories are packed one after the other.
const writer = new NumberWriter();

type Counter = (typeof periodCounters)[number];
const counterIndex = Object.fromEntries(periodCounters.map((name, index) => [name, index])) as Record<Counter, number>;

/** Receives the current minute of a history when it has new counts. */
export type MinuteListener = (minute: OpenPeriod, history: PeriodHistory) => void;

/** Durations that a store has counted in a minute. */
export interface CountedDurations {
  /** Numbers of durations by their buckets. */
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
  /** -1 if it is not known. */
  readonly longestMs: number;
}

/** Counts of one minute, as a store has them. */
export interface CountedMinute {
  /** In the order of `periodCounters`. */
  readonly counts: readonly number[];
  readonly waits: CountedDurations;
  readonly durations: CountedDurations;
}

/**
 * Texts of the minutes of a history that are over, by their names, as a store has them:
 *
 * - `minutes` the last hour by the minute. Readers of many types need nothing else.
 * - `latest` durations since the creation, the last periods of 5 minutes and the current hour with their durations
 * - `hours` the hours before the current one
 * - the number of an hour, counted from the epoch: its periods of 5 minutes, from the end of the hour on
 */
export type PackedHistory = Iterable<readonly [name: string, text: string]>;

/** Parts of a history that have changed. */
export interface HistoryChanges {
  readonly parts: ReadonlyMap<string, string>;
  /** First hour that is retained; parts of earlier ones are to be deleted. `undefined` if no hour has ended. */
  readonly firstHour: number | undefined;
}

/** Returns the names of the parts that a range needs, if periods of this kind cover it. @param from in epoch milliseconds */
export function partsOfRange(kind: keyof Histories, from: number, to: number): readonly string[] {
  if (kind === 'minutes') return ['minutes'];
  if (kind === 'hours') return ['latest', 'hours'];
  const first = periodOf(from, hours);
  const count = Math.max(0, Math.min(periodOf(to, hours) - first, pastHours)) + 1;
  return ['latest', ...Array.from({ length: count }, (_, index) => String(first + index))];
}

/**
 * Counts, waiting times and durations of one type by the minute, 5 minutes and hour. Minutes that are over are packed, in
 * memory as in every store. A busy type takes at most 25 kB; 30 kB if its durations span three decades and it has 65,536
 * events per 5 minutes.
 */
export class PeriodHistory {
  readonly #total: PeriodHistory | undefined;
  readonly #onChange: MinuteListener | undefined;
  #open = new OpenPeriod(-1);
  /** End of the open minute in epoch milliseconds. */
  #openUntil = 0;
  #minutes = '';
  /** Sum of the closed minutes of the current 5 minutes, and the periods before it with their durations. */
  #five = new OpenPeriod(-1);
  #fives = '';
  /** Sum of the closed minutes of the current hour, and the hours before it. */
  #hour = new OpenPeriod(-1);
  #hours = '';
  /** Periods of 5 minutes of the hours that are over, by hour. */
  readonly #past = new Map<number, string>();
  /** Parts that have changed since {@link markStored}. */
  readonly #changed = new Set<string>();
  readonly #totals = { wait: new DurationTotals(), duration: new DurationTotals() };
  /** Both as they were when the last minute was closed. */
  #closedTotals = '';
  /** First minute of the trend that was read last. */
  #readFirst = -1;
  /** Sums of the minutes before the open one; `undefined` if the open one is another since the last read. */
  #closed: ClosedMinutes | undefined;
  /** Result of the last read; `undefined` if something was counted since. */
  #recent: RecentActivity | undefined;

  /**
   * @param total history of all types, which counts the same events
   * @param onChange receives each change of the current minute
   */
  constructor(total?: PeriodHistory, onChange?: MinuteListener) {
    this.#total = total;
    this.#onChange = onChange;
  }

  /** Adds the parts of a store to an empty history, and returns it. Parts that nobody reads may be left out. */
  restore(packed: PackedHistory): this {
    for (const [name, text] of packed) {
      if (name === 'minutes') this.#minutes = text;
      else if (name === 'latest') this.#restoreLatest(text);
      else if (name === 'hours') this.#hours = text;
      else if (/^\d+$/.test(name)) this.#past.set(Number(name), text);
    }
    return this;
  }

  #restoreLatest(text: string): void {
    const reader = new NumberReader(text);
    for (const totals of Object.values(this.#totals)) totals.read(reader);
    const [five, ...fives] = readPeriods(reader);
    const [hour] = readPeriods(reader);
    if (five !== undefined) this.#five = OpenPeriod.of(five);
    if (hour !== undefined) this.#hour = OpenPeriod.of(hour);
    this.#fives = packPeriods(fives);
  }

  /** Number of the open minute; -1 if there is none. */
  get openMinute(): number {
    return this.#open.period;
  }

  /** A minute was closed that is not stored. */
  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /** Returns the parts that have changed. The open minute is not part of them. */
  pack(): HistoryChanges {
    const parts = new Map([...this.#changed].map((name) => [name, this.#pack(name)]));
    return { parts, firstHour: parts.has('hours') ? this.#hour.period - pastHours : undefined };
  }

  /** Reports that a store has the changes. */
  markStored(): void {
    this.#changed.clear();
  }

  #pack(name: string): string {
    if (name === 'minutes') return this.#minutes;
    if (name === 'hours') return this.#hours;
    if (name !== 'latest') return this.#past.get(Number(name)) ?? '';
    writer.writeText(this.#closedTotals);
    writePeriods(writer, [this.#five.stored(), ...unpackPeriods(this.#fives)]);
    writePeriods(writer, [this.#hour.stored()]);
    return writer.take();
  }

  count(counter: Counter, now: number): void {
    const minute = this.#current(now);
    const index = counterIndex[counter];
    minute.counts[index] = (minute.counts[index] ?? 0) + 1;
    this.#onChange?.(minute, this);
    this.#total?.count(counter, now);
  }

  countWait(waitMs: number, now: number): void {
    this.#measure('wait', durationBucket(waitMs), waitMs, now);
  }

  countDuration(durationMs: number, now: number): void {
    this.#measure('duration', durationBucket(durationMs), durationMs, now);
  }

  #measure(kind: 'wait' | 'duration', bucket: number, ms: number, now: number): void {
    const minute = this.#current(now);
    minute[kind].addBucket(bucket, 1);
    minute[kind].noteLongest(ms);
    this.#totals[kind].add(bucket, 1);
    this.#onChange?.(minute, this);
    if (this.#total !== undefined) this.#total.#measure(kind, bucket, ms, now);
  }

  /** Adds what a store has counted in a minute; minutes in ascending order. */
  add(minute: number, { counts, waits, durations }: CountedMinute): void {
    const open = this.#current(minute * minutes.stepMs);
    open.addCounts(counts);
    const measured = { wait: waits, duration: durations };
    for (const kind of ['wait', 'duration'] as const) {
      const { buckets, longestMs } = measured[kind];
      for (const [bucket, count] of buckets) {
        open[kind].addBucket(bucket, count);
        this.#totals[kind].add(bucket, count);
      }
      open[kind].noteLongest(longestMs);
    }
  }

  /**
   * Returns the same object until something is counted or the minute ends.
   *
   * @param sums of the minute of `now`, for readers of many histories; it must be empty
   */
  recent(now: number, sums: RecentMinutes = new RecentMinutes(periodOf(now, minutes))): RecentActivity {
    if (this.#recent !== undefined && this.#readFirst === sums.first) return this.#recent;
    const { period, counts, wait, duration } = this.#open;
    if (this.#readFirst !== sums.first) this.#closed = undefined;
    this.#readFirst = sums.first;
    if (period < sums.first && newestOf(this.#minutes) < sums.first) {
      this.#recent = noActivity;
      return noActivity;
    }
    this.#closed ??= sumMinutes(this.#minutes, sums);
    sums.addClosed(this.#closed);
    sums.addCounts(period, counts[0] ?? 0, counts[1] ?? 0, counts[2] ?? 0, counts[3] ?? 0, counts[4] ?? 0);
    this.#recent = period < sums.firstWithDurations ? sums.take() : sums.take(wait, duration);
    return this.#recent;
  }

  histories(now: number): Histories {
    const build = (name: keyof Histories): Histories['hours'] => {
      const kind = periodKinds[name];
      const current = periodOf(now, kind);
      return buildHistory(kind, now, this.#periods(name, current - kind.length + 1, current));
    };
    return { minutes: build('minutes'), fiveMinutes: build('fiveMinutes'), hours: build('hours') };
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
    return { waitMs: this.#totals.wait.counts(), durationMs: this.#totals.duration.counts() };
  }

  /** Returns the counts of a range. It reads the hours that the range covers. */
  range({ name, from, to }: RangePeriods): PeriodCounts {
    return sumPeriods(this.#periods(name, from, to));
  }

  #last5Min(now: number): OpenPeriod {
    const first = periodOf(now, minutes) - recentMinutes + 1;
    return this.#sumDurations(this.#minutes, first, this.#open.period);
  }

  #lastHour(now: number): OpenPeriod {
    const first = periodOf(now, fiveMinutes) - recentFives + 1;
    const sum = this.#sumDurations(this.#fives, first, this.#openIn(fiveMinutes));
    if (this.#five.period >= first) sum.add(this.#five);
    return sum;
  }

  /** Sums packed periods from `first` on, and the open minute if its period is one of them. */
  #sumDurations(periods: string, first: number, openPeriod: number): OpenPeriod {
    const sum = new OpenPeriod(first);
    for (const { period, durations } of unpackPeriods(periods)) {
      if (period >= first) durations?.addTo(sum.wait, sum.duration);
    }
    if (openPeriod >= first) sum.add(this.#open);
    return sum;
  }

  /** Returns the periods from `from` to `to`. */
  *#periods(name: keyof Histories, from: number, to: number): Iterable<ClosedPeriod> {
    for (const each of this.#packed(name, from, to)) if (each.period >= from && each.period <= to) yield each;
  }

  /** Returns the periods of a range, and maybe others. */
  *#packed(name: keyof Histories, from: number, to: number): Iterable<ClosedPeriod> {
    if (name === 'minutes') {
      yield* unpackPeriods(this.#minutes);
      yield this.#open.closed();
    } else if (name === 'hours') {
      yield* unpackPeriods(this.#hours);
      yield* this.#withOpen(this.#hour, hours);
    } else {
      const current = this.#hour.period;
      for (let hour = hourOf(from); hour <= Math.min(hourOf(to), current - 1); hour += 1) {
        yield* unpackPeriods(this.#past.get(hour) ?? '');
      }
      for (const each of unpackPeriods(this.#fives)) if (hourOf(each.period) >= current) yield each;
      yield* this.#withOpen(this.#five, fiveMinutes);
    }
  }

  /** Returns a sum of closed minutes with the open one, which may be the first of its period. */
  *#withOpen(closed: OpenPeriod, kind: PeriodKind): Iterable<ClosedPeriod> {
    const period = this.#openIn(kind);
    const sum = new OpenPeriod(Math.max(closed.period, period));
    if (period > closed.period) yield closed.closed();
    else sum.add(closed);
    sum.add(this.#open);
    yield sum.closed();
  }

  /** Returns the period of the open minute; -1 if there is none. */
  #openIn(kind: PeriodKind): number {
    return this.#open.period === -1 ? -1 : periodOf(this.#open.period * minutes.stepMs, kind);
  }

  #current(now: number): OpenPeriod {
    // A clock that is set back counts in the latest minute.
    if (now >= this.#openUntil) this.#setOpen(Math.max(periodOf(now, minutes), newestOf(this.#minutes)));
    this.#recent = undefined;
    return this.#open;
  }

  #setOpen(period: number): void {
    this.closeMinute();
    this.#open = new OpenPeriod(period);
    this.#openUntil = (period + 1) * minutes.stepMs;
  }

  /** Adds the open minute to the packed ones. */
  closeMinute(): void {
    const minute = this.#open;
    this.#open = new OpenPeriod(-1);
    this.#openUntil = 0;
    this.#closed = undefined;
    this.#recent = undefined;
    if (minute.period === -1) return;
    // Also if the minute is closed before it ends.
    this.#minutes = addPeriod(this.#minutes, minute, minutes.length, recentMinutes);
    for (const totals of Object.values(this.#totals)) totals.write(writer);
    this.#closedTotals = writer.take();
    this.#changed.add('minutes').add('latest');
    const at = minute.period * minutes.stepMs;
    const [five, hour] = [periodOf(at, fiveMinutes), periodOf(at, hours)];
    // A clock that was set back does not open a period again.
    if (five > this.#five.period) {
      if (this.#five.period !== -1) this.#fives = addPeriod(this.#fives, this.#five, recentFives - 1, recentFives - 1);
      this.#five = new OpenPeriod(five);
    }
    if (hour > this.#hour.period) {
      if (this.#hour.period !== -1) this.#endHour(hour);
      this.#hour = new OpenPeriod(hour);
    }
    this.#five.add(minute);
    this.#hour.add(minute);
  }

  #endHour(next: number): void {
    const ended = this.#hour.period;
    const fives = [...unpackPeriods(this.#fives)].filter(({ period }) => hourOf(period) === ended);
    this.#past.set(ended, packPeriods(fives.map(withoutDurations)));
    this.#hours = addPeriod(this.#hours, this.#hour, hours.length, 0);
    this.#changed.add('hours').add(String(ended));
    for (const hour of this.#past.keys()) {
      if (hour >= next - pastHours) continue;
      this.#past.delete(hour);
      this.#changed.delete(String(hour));
    }
  }
}

/** Returns the hour of a period of 5 minutes. */
function hourOf(five: number): number {
  return Math.floor(five / fivesPerHour);
}

/** Returns the number of the newest packed period; -1 if there is none. */
function newestOf(periods: string): number {
  for (const { period } of unpackPeriods(periods)) return period;
  return -1;
}
