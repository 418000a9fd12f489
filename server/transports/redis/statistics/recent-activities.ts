import { sumMinutes } from '../../statistics/packed-periods.js';
import { type ClosedMinutes, noActivity, RecentMinutes } from '../../statistics/periods.js';
import type { RecentActivity } from '../../statistics/stats.js';
import { readCountedMinute } from './counted-minute.js';

/** Counts of types in a minute that is not in their histories yet. */
export interface OpenMinute {
  readonly minute: number;
  /** Per type; empty if the type has none. */
  readonly counts: readonly string[];
}

/** Last minutes of types, as Redis has them. */
export interface LastMinutes {
  /** In ascending order. */
  readonly open: readonly OpenMinute[];
  /** Changes with the histories. */
  readonly rolled: string;
  /** Last hour of each type; `undefined` if the histories are as at the last read. */
  readonly lastHours: readonly string[] | undefined;
}

/** Activity of a type as it was last read. */
interface Known {
  readonly lastHour: string;
  /** Sums of the last hour as long as the current minute lasts. */
  readonly closed: ClosedMinutes;
  readonly open: readonly string[];
  readonly activity: RecentActivity;
}

/**
 * Reads the recent activity of many types again and again. Redis sends the last hours again when a minute has moved to
 * them, and what has not changed in the same minute is not parsed again. It keeps at most 5 kB per type of the last read.
 */
export class RecentActivities {
  #types = '';
  #rolled = '';
  #current = -1;
  #openMinutes = '';
  #known: readonly (Known | undefined)[] = [];

  /** Returns `rolled` of the last read of these types, of which Redis need not send the last hours again if it is the same. */
  rolledOf(types: string): string {
    return types === this.#types ? this.#rolled : '';
  }

  /**
   * Returns the activity of each type; the same object if nothing has changed.
   *
   * @param types names of the types
   * @param current the current minute, counted from the epoch
   */
  read(types: string, current: number, { open, rolled, lastHours }: LastMinutes): readonly RecentActivity[] {
    // An overview of runs has no types.
    if (types === '') return [];
    const isSame = types === this.#types;
    const openMinutes = open.map(({ minute }) => minute).join();
    const sums = new RecentMinutes(current);
    const count = types.split(',').length;
    const known = Array.from({ length: count }, (_, index) => {
      const last = isSame ? this.#known[index] : undefined;
      const lastHour = lastHours === undefined ? (last?.lastHour ?? '') : (lastHours[index] ?? '');
      const counts = open.map((each) => each.counts[index] ?? '');
      const isClosedKnown = last?.lastHour === lastHour && current === this.#current;
      if (isClosedKnown && openMinutes === this.#openMinutes && counts.every((each, at) => each === last.open[at])) {
        return last;
      }
      if (lastHour === '' && counts.every((each) => each === '')) return undefined;
      const closed = isClosedKnown ? last.closed : sumMinutes(lastHour, sums);
      return { lastHour, closed, open: counts, activity: addOpen(sums, closed, open, counts) };
    });
    this.#types = types;
    this.#rolled = rolled;
    this.#current = current;
    this.#openMinutes = openMinutes;
    this.#known = known;
    return known.map((each) => each?.activity ?? noActivity);
  }
}

function addOpen(
  sums: RecentMinutes,
  closed: ClosedMinutes,
  open: readonly OpenMinute[],
  texts: readonly string[],
): RecentActivity {
  sums.addClosed(closed);
  for (const [index, { minute }] of open.entries()) {
    const { counts, waits, durations } = readCountedMinute(texts[index] ?? '');
    const [received = 0, completed = 0, failed = 0, cancelled = 0, retried = 0] = counts;
    sums.addCounts(minute, received, completed, failed, cancelled, retried);
    if (minute < sums.firstWithDurations) continue;
    for (const [bucket, count] of waits.buckets) sums.waits.addBucket(bucket, count);
    for (const [bucket, count] of durations.buckets) sums.durations.addBucket(bucket, count);
  }
  return sums.take();
}
