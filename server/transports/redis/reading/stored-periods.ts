import { DurationSketch } from '../../statistics/duration-sketch.js';
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
  trendMinutes,
} from '../../statistics/periods.js';
import type { Histories, PeriodCounts, PeriodDurations, RecentActivity } from '../../statistics/stats.js';

const { minutes, fiveMinutes, hours } = periodKinds;

/** Counts of one period as Redis stores them: by the names that `counters` and `periodRoll` describe. */
class StoredPeriod {
  readonly #counts = new Map<string, number>();

  add(name: string, count: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  merge(other: StoredPeriod): void {
    for (const [name, count] of other.#counts) this.add(name, count);
  }

  counts(): PeriodCounts {
    let completed = this.#count('c');
    for (const [name, count] of this.#counts) if (name.startsWith('e')) completed += count;
    return {
      received: this.#count('r'),
      completed,
      failed: this.#count('f'),
      cancelled: this.#count('x'),
      retried: this.#count('t'),
    };
  }

  waits(): DurationSketch {
    return this.#sketch('w');
  }

  durations(): DurationSketch {
    return this.#sketch('de');
  }

  record(): PeriodRecord {
    return {
      counts: this.counts(),
      waitBucket: this.waits().bucketAt(0.95) ?? this.#counts.get('W'),
      durationBucket: this.durations().bucketAt(0.95) ?? this.#counts.get('D'),
    };
  }

  #count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  #sketch(kinds: string): DurationSketch {
    const sketch = new DurationSketch();
    for (const [name, count] of this.#counts) {
      if (name.length > 1 && kinds.includes(name.charAt(0))) sketch.addBucket(Number(name.slice(1)), count);
    }
    return sketch;
  }
}

type Periods = Map<number, StoredPeriod>;

/** Periods of one type, from the texts of its history and the counters of minutes that no script has moved there yet. */
export class StoredPeriods {
  readonly #now: number;
  readonly #minutes: Periods;
  readonly #fives: Periods;
  readonly #hours: Periods;
  readonly #open: Periods;

  /** @param history texts by their names; a reader of recent activity needs only `trend` */
  constructor(now: number, open: Iterable<readonly [string, string]>, history: ReadonlyMap<string, string>) {
    this.#now = now;
    this.#open = readOpen(open);
    this.#minutes = new Map([...readLines(history.get('m')), ...readLines(history.get('trend')), ...this.#open]);
    this.#fives = this.#withOpen([...readLines(history.get('f')), ...readLines(history.get('fives'))], fiveMinutes);
    this.#hours = this.#withOpen([...readLines(history.get('h')), ...readLines(history.get('hour'))], hours);
  }

  recent(): RecentActivity {
    const last = this.#last(this.#minutes, minutes, recentMinutes);
    const trend = lastPeriods(periodOf(this.#now, minutes), trendMinutes).map(
      (minute) => this.#minutes.get(minute)?.counts() ?? noCounts,
    );
    return {
      last5Min: sumPeriods(last.map((period) => period.counts())),
      waitP95Ms: merged(last, (period) => period.waits()).percentile(0.95),
      durationP95Ms: merged(last, (period) => period.durations()).percentile(0.95),
      minutes: {
        received: trend.map(({ received }) => received),
        failed: trend.map(({ failed, cancelled }) => failed - cancelled),
      },
    };
  }

  histories(): Histories {
    const history = (kind: PeriodKind, periods: Periods) =>
      buildHistory(kind, this.#now, (period) => periods.get(period)?.record());
    return {
      minutes: history(minutes, this.#minutes),
      fiveMinutes: history(fiveMinutes, this.#fives),
      hours: history(hours, this.#hours),
    };
  }

  waits(): PeriodDurations {
    return this.#durations((period) => period.waits());
  }

  durations(): PeriodDurations {
    return this.#durations((period) => period.durations());
  }

  range({ name, from, to }: RangePeriods): PeriodCounts {
    const periods = { minutes: this.#minutes, fiveMinutes: this.#fives, hours: this.#hours }[name];
    return sumPeriods(lastPeriods(to, to - from + 1).map((period) => periods.get(period)?.counts() ?? noCounts));
  }

  #durations(of: (period: StoredPeriod) => DurationSketch): PeriodDurations {
    return {
      last5Min: merged(this.#last(this.#minutes, minutes, recentMinutes), of).durations(),
      lastHour: merged(this.#last(this.#fives, fiveMinutes, recentFives), of).durations(),
    };
  }

  #last(periods: Periods, kind: PeriodKind, count: number): readonly StoredPeriod[] {
    return lastPeriods(periodOf(this.#now, kind), count).flatMap((period) => periods.get(period) ?? []);
  }

  #withOpen(closed: readonly (readonly [number, StoredPeriod])[], kind: PeriodKind): Periods {
    const periods = new Map(closed);
    for (const [minute, counts] of this.#open) add(periods, periodOf(minute * minutes.stepMs, kind)).merge(counts);
    return periods;
  }
}

function merged(periods: readonly StoredPeriod[], of: (period: StoredPeriod) => DurationSketch): DurationSketch {
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

function readOpen(fields: Iterable<readonly [string, string]>): Periods {
  const periods: Periods = new Map();
  for (const [field, count] of fields) {
    const [, minute, name] = /^(\d+)(\D.*)$/.exec(field) ?? [];
    if (minute !== undefined && name !== undefined) add(periods, Number(minute)).add(name, Number(count));
  }
  return periods;
}

function readLines(text = ''): (readonly [number, StoredPeriod])[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [period, ...counts] = line.split(' ');
      const stored = new StoredPeriod();
      for (const count of counts) {
        const end = count.indexOf('=');
        stored.add(count.slice(0, end), Number(count.slice(end + 1)));
      }
      return [Number(period), stored] as const;
    });
}
