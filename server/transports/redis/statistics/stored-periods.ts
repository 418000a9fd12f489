import { DurationSketch } from '../../statistics/durations.js';
import {
  buildHistory,
  lastPeriods,
  noCounts,
  type PeriodKind,
  type PeriodRecord,
  periodKinds,
  periodOf,
  type RangePeriods,
  recentFives,
  recentMinutes,
  sumPeriods,
} from '../../statistics/periods.js';
import {
  type Histories,
  type PeriodCounts,
  type PeriodDurations,
  periodCounters,
  type RecentActivity,
} from '../../statistics/stats.js';
import { RecentReader } from './recent-activities.js';
import {
  bucketOffset,
  type CountSink,
  closedHead,
  endOfLine,
  kinds,
  minuteOfLine,
  periodOfLine,
  read36,
  readClosedLine,
  readOpenLine,
  startOfTrend,
} from './stored-lines.js';

const { minutes, fiveMinutes, hours } = periodKinds;

const noDurations = new DurationSketch();

/** Counts of one period as Redis stores them: by the names that count-records.lua and period-roll.lua describe. */
class StoredPeriod implements CountSink {
  readonly counts: { -readonly [K in keyof PeriodCounts]: number } = { ...noCounts };
  #waits: DurationSketch | undefined;
  #durations: DurationSketch | undefined;
  #waitBucket: number | undefined;
  #durationBucket: number | undefined;

  get waits(): DurationSketch {
    return this.#waits ?? noDurations;
  }

  get durations(): DurationSketch {
    return this.#durations ?? noDurations;
  }

  add(kind: number, bucket: number, count: number): void {
    switch (kind) {
      case kinds.received:
        this.counts.received += count;
        break;
      case kinds.completed:
        this.counts.completed += count;
        break;
      case kinds.failed:
        this.counts.failed += count;
        break;
      case kinds.cancelled:
        this.counts.cancelled += count;
        break;
      case kinds.retried:
        this.counts.retried += count;
        break;
      case kinds.wait:
        this.#waits ??= new DurationSketch();
        this.#waits.addBucket(bucket, count);
        break;
      case kinds.completedDuration:
        this.counts.completed += count;
        this.#addDuration(bucket, count);
        break;
      case kinds.duration:
        this.#addDuration(bucket, count);
        break;
    }
  }

  /** Sets the buckets of the percentiles, if no durations were added. */
  setPercentiles(wait: number | undefined, duration: number | undefined): void {
    this.#waitBucket = wait;
    this.#durationBucket = duration;
  }

  merge({ counts, waits, durations }: StoredPeriod): void {
    for (const counter of periodCounters) this.counts[counter] += counts[counter];
    if (!waits.isEmpty) {
      this.#waits ??= new DurationSketch();
      this.#waits.merge(waits);
    }
    if (!durations.isEmpty) {
      this.#durations ??= new DurationSketch();
      this.#durations.merge(durations);
    }
  }

  record(): PeriodRecord {
    return {
      counts: this.counts,
      waitBucket: this.waits.bucketAt(0.95) ?? this.#waitBucket,
      durationBucket: this.durations.bucketAt(0.95) ?? this.#durationBucket,
    };
  }

  #addDuration(bucket: number, count: number): void {
    this.#durations ??= new DurationSketch();
    this.#durations.addBucket(bucket, count);
  }
}

type Periods = Map<number, StoredPeriod>;

/** Texts of the last minutes of a type. */
export interface LastMinutes {
  /** Minutes that are not in the history yet. */
  readonly open: string;
  /** The text `trend`. */
  readonly trend: string;
}

/** Periods of one type, from the texts of its history and the minutes that no script has moved there yet. */
export class StoredPeriods {
  readonly #now: number;
  readonly #last: LastMinutes;
  readonly #open: Periods;
  readonly #minutes: Periods;
  readonly #history: ReadonlyMap<string, string>;

  /** @param history texts by their names */
  constructor(now: number, last: LastMinutes, history: ReadonlyMap<string, string>) {
    const minute = periodOf(now, minutes);
    this.#now = now;
    this.#last = last;
    this.#open = readOpen(last.open);
    this.#history = history;
    this.#minutes = new Map([
      ...readLines(history.get('m'), minute),
      ...readLines(last.trend, minute, startOfTrend(last.trend, minute)),
      ...this.#open,
    ]);
  }

  recent(): RecentActivity {
    const { open, trend } = this.#last;
    return new RecentReader(periodOf(this.#now, minutes)).read(open, trend);
  }

  histories(): Histories {
    const history = (kind: PeriodKind, periods: Periods) =>
      buildHistory(kind, this.#now, (period) => periods.get(period)?.record());
    return {
      minutes: history(minutes, this.#minutes),
      fiveMinutes: history(fiveMinutes, this.#fives()),
      hours: history(hours, this.#hours()),
    };
  }

  waits(): PeriodDurations {
    return this.#durations(({ waits }) => waits);
  }

  durations(): PeriodDurations {
    return this.#durations(({ durations }) => durations);
  }

  range({ name, from, to }: RangePeriods): PeriodCounts {
    const read = { minutes: () => this.#minutes, fiveMinutes: () => this.#fives(), hours: () => this.#hours() }[name];
    const periods = read();
    return sumPeriods(lastPeriods(to, to - from + 1).map((period) => periods.get(period)?.counts ?? noCounts));
  }

  #durations(of: (period: StoredPeriod) => DurationSketch): PeriodDurations {
    return {
      last5Min: merged(this.#latest(this.#minutes, minutes, recentMinutes), of).durations(),
      lastHour: merged(this.#latest(this.#fives(), fiveMinutes, recentFives), of).durations(),
    };
  }

  #latest(periods: Periods, kind: PeriodKind, count: number): readonly StoredPeriod[] {
    return lastPeriods(periodOf(this.#now, kind), count).flatMap((period) => periods.get(period) ?? []);
  }

  #fives(): Periods {
    const texts = [this.#history.get('f'), this.#history.get('fives')];
    return this.#withOpen(
      texts.flatMap((text) => readLines(text, periodOf(this.#now, fiveMinutes))),
      fiveMinutes,
    );
  }

  #hours(): Periods {
    const texts = [this.#history.get('h'), this.#history.get('hour')];
    return this.#withOpen(
      texts.flatMap((text) => readLines(text, periodOf(this.#now, hours))),
      hours,
    );
  }

  #withOpen(closed: readonly (readonly [number, StoredPeriod])[], kind: PeriodKind): Periods {
    const periods = new Map(closed);
    for (const [minute, counts] of this.#open) add(periods, periodOf(minute * minutes.stepMs, kind)).merge(counts);
    return periods;
  }
}

function merged(periods: readonly StoredPeriod[], of: (period: StoredPeriod) => DurationSketch): DurationSketch {
  const [first, second] = periods;
  if (first !== undefined && second === undefined) return of(first);
  const sum = new DurationSketch();
  for (const period of periods) sum.merge(of(period));
  return sum;
}

function add(periods: Periods, period: number): StoredPeriod {
  let found = periods.get(period);
  if (found === undefined) {
    found = new StoredPeriod();
    periods.set(period, found);
  }
  return found;
}

/** Reads the lines of `minutes` that count-records.lua describes. */
function readOpen(text: string): Periods {
  const periods: Periods = new Map();
  for (let start = 0; start < text.length; ) {
    const end = endOfLine(text, start);
    readOpenLine(text, start, end, add(periods, minuteOfLine(text, start, end)));
    start = end + 1;
  }
  return periods;
}

/** Reads the lines of a text that period-roll.lua has written. @param last number of the current period */
function readLines(text = '', last: number, first = 0): (readonly [number, StoredPeriod])[] {
  const periods: (readonly [number, StoredPeriod])[] = [];
  for (let start = first; start < text.length; ) {
    const end = endOfLine(text, start);
    const counts = start + closedHead;
    const stored = new StoredPeriod();
    stored.setPercentiles(readBucket(text, counts - 4), readBucket(text, counts - 2));
    readClosedLine(text, counts, end, stored);
    periods.push([periodOfLine(text, start, last), stored]);
    start = end + 1;
  }
  return periods;
}

function readBucket(text: string, start: number): number | undefined {
  const number = read36(text, start, start + 2);
  return number === 0 ? undefined : number - bucketOffset;
}
