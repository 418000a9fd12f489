import { noActivity } from '../../statistics/periods.js';
import type { RecentActivity } from '../../statistics/stats.js';
import { type ReadTrend, RecentReader } from './recent-reader.js';

interface Known {
  readonly open: string;
  readonly read: ReadTrend;
  readonly activity: RecentActivity;
}

/**
 * Reads the recent activity of many types again and again. Texts that are as they were at the last read, at the same
 * place and in the same minute, are not parsed again: minutes that are over hardly ever change. It keeps at most 5 kB per
 * type of the last read.
 */
export class RecentActivities {
  #current = -1;
  #known: readonly (Known | undefined)[] = [];

  /**
   * Returns the activity of each type; the same object if nothing has changed.
   *
   * @param current the current minute, counted from the epoch
   * @param opens lines of minutes that are not in the history yet, per type
   * @param trends texts `trend`, per type
   */
  read(current: number, opens: readonly string[], trends: readonly string[]): readonly RecentActivity[] {
    // An overview of runs has no types.
    if (opens.length === 0) return [];
    const before = current === this.#current ? this.#known : [];
    const reader = new RecentReader(current);
    const known = opens.map((open, index) => readType(reader, open, trends[index] ?? '', before[index]));
    this.#current = current;
    this.#known = known;
    return known.map((each) => each?.activity ?? noActivity);
  }
}

function readType(reader: RecentReader, open: string, trend: string, last: Known | undefined): Known | undefined {
  if (open === '' && trend === '') return undefined;
  const isSame = last?.read.trend === trend;
  if (isSame && last.open === open) return last;
  const read = isSame ? last.read : reader.readTrend(trend);
  return { open, read, activity: reader.readOpen(open, read) };
}
