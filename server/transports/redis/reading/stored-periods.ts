import { DurationSketch } from '../../statistics/duration-sketch.js';
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
import type { Histories, PeriodCounts, PeriodDurations, RecentActivity } from '../../statistics/stats.js';
import { bucketOffset, periodCycle } from '../scripts/period-roll.js';

const { minutes, fiveMinutes, hours } = periodKinds;

/** Counts of one period as Redis stores them: by the names that `counters` and `periodRoll` describe. */
class StoredPeriod {
  readonly counts: { -readonly [K in keyof PeriodCounts]: number } = { ...noCounts };
  readonly waits: DurationSketch = new DurationSketch();
  readonly durations: DurationSketch = new DurationSketch();
  #waitBucket: number | undefined;
  #durationBucket: number | undefined;

  add(name: string, count: number): void {
    const bucket = Number(name.slice(1));
    switch (name.charAt(0)) {
      case 'r':
        this.counts.received += count;
        break;
      case 'c':
        this.counts.completed += count;
        break;
      case 'f':
        this.counts.failed += count;
        break;
      case 'x':
        this.counts.cancelled += count;
        break;
      case 't':
        this.counts.retried += count;
        break;
      case 'w':
        this.waits.addBucket(bucket, count);
        break;
      case 'e':
        this.counts.completed += count;
        this.durations.addBucket(bucket, count);
        break;
      case 'd':
        this.durations.addBucket(bucket, count);
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
    this.waits.merge(waits);
    this.durations.merge(durations);
  }

  record(): PeriodRecord {
    return {
      counts: this.counts,
      waitBucket: this.waits.bucketAt(0.95) ?? this.#waitBucket,
      durationBucket: this.durations.bucketAt(0.95) ?? this.#durationBucket,
    };
  }
}

type Periods = Map<number, StoredPeriod>;

/** Periods of one type, from the texts of its history and the counters of minutes that no script has moved there yet. */
export class StoredPeriods {
  readonly #now: number;
  readonly #open: Periods;
  readonly #minutes: Periods;
  readonly #history: ReadonlyMap<string, string>;

  /**
   * @param minutes counters of open minutes and the text `trend`
   * @param history texts by their names; a reader of recent activity needs none
   */
  constructor(now: number, minutes: ReadonlyMap<string, string>, history: ReadonlyMap<string, string> = new Map()) {
    this.#now = now;
    this.#open = readOpen(minutes);
    this.#history = history;
    const minute = periodOf(now, periodKinds.minutes);
    this.#minutes = new Map([
      ...readLines(history.get('m'), minute),
      ...readLines(minutes.get('trend'), minute),
      ...this.#open,
    ]);
  }

  recent(): RecentActivity {
    const current = periodOf(this.#now, minutes);
    const [received, failed]: [number[], number[]] = [[], []];
    for (let minute = current - trendMinutes + 1; minute <= current; minute += 1) {
      const counts = this.#minutes.get(minute)?.counts ?? noCounts;
      received.push(counts.received);
      failed.push(counts.failed - counts.cancelled);
    }
    const last = this.#last(this.#minutes, minutes, recentMinutes);
    return {
      last5Min: sumPeriods(last.map((period) => period.counts)),
      waitP95Ms: merged(last, ({ waits }) => waits).percentile(0.95),
      durationP95Ms: merged(last, ({ durations }) => durations).percentile(0.95),
      minutes: { received, failed },
    };
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
      last5Min: merged(this.#last(this.#minutes, minutes, recentMinutes), of).durations(),
      lastHour: merged(this.#last(this.#fives(), fiveMinutes, recentFives), of).durations(),
    };
  }

  #last(periods: Periods, kind: PeriodKind, count: number): readonly StoredPeriod[] {
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

function readOpen(fields: Iterable<readonly [string, string]>): Periods {
  const periods: Periods = new Map();
  for (const [field, count] of fields) {
    const [, minute, name] = /^(\d+)(\D.*)$/.exec(field) ?? [];
    if (minute !== undefined && name !== undefined) add(periods, Number(minute)).add(name, Number(count));
  }
  return periods;
}

/** Reads the lines of a text that `periodRoll` has written. @param last number of the current period */
function readLines(text: string | undefined, last: number): (readonly [number, StoredPeriod])[] {
  if (text === undefined) return [];
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const number = read36(line.slice(0, 3));
      const stored = new StoredPeriod();
      stored.setPercentiles(readBucket(line.slice(3, 5)), readBucket(line.slice(5, 7)));
      for (const [, kind = '', value = ''] of line.slice(7).matchAll(/([a-z])([^a-z]*)/g))
        addCounts(stored, kind, value);
      return [last - ((last - number + periodCycle) % periodCycle), stored] as const;
    });
}

/** Returns 0 for digits that `periodRoll` cannot have written. */
function read36(digits: string): number {
  return Number.parseInt(digits, 36) || 0;
}

function readBucket(digits: string): number | undefined {
  const number = read36(digits);
  return number === 0 ? undefined : number - bucketOffset;
}

/** Adds a count, or the counts of neighbouring buckets. */
function addCounts(stored: StoredPeriod, kind: string, value: string): void {
  const [first = '', ...counts] = value.split('=');
  if (counts.length === 0) stored.add(kind, read36(value));
  for (const [index, count] of counts.entries()) {
    if (count !== '') stored.add(`${kind}${Number(first) + index}`, read36(count));
  }
}
