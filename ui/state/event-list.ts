import { type EventRow, type EventStatus, type Reading, shownCounts, shownRate, shownReceived } from './event-row.js';
import type { Filter, Route, SortKey } from './navigation.js';
import { failureRatio } from './recent-activity.js';

/** Parts of the route that select and sort the rows of the table. */
export type ListQuery = Pick<Route, 'q' | 'sort' | 'dir' | 'show'>;

/** Ranks are further apart than failure rates. Active and idle types share one, so that a type with few events does not move at each of them. */
const STATUS_RANK: Record<EventStatus, number> = { failing: 0, attention: 2, active: 4, idle: 4, never: 6 };

const SORT_VALUE: Record<Exclude<SortKey, 'type'>, (row: EventRow, reading: Reading) => number | null> = {
  status: (row, reading) => statusRank(row, reading),
  rate: shownRate,
  trend: ({ minutes }) => minutes.received.reduce((sum, count) => sum + count, 0),
  failed: (row, reading) => {
    const { failed, cancelled } = shownCounts(row, reading);
    return failed - cancelled;
  },
  failures: (row, reading) => failureRatio(shownCounts(row, reading)),
  pending: (row) => row.count('pending'),
  retried: (row, reading) => shownCounts(row, reading).retried,
  received: shownReceived,
};

/**
 * Returns the rank of a row's status, and in it that of its failure rate: -1 for a type whose events all fail. Whole
 * percents, so that similar rows do not change places at each event. In a selected range, the types that failed in it are
 * the worst.
 */
function statusRank(row: EventRow, reading: Reading): number {
  const counts = shownCounts(row, reading);
  const share = Math.round((failureRatio(counts) ?? 0) * 100) / 100;
  if (reading.range === null) return STATUS_RANK[row.status] - share;
  return (counts.failed > counts.cancelled ? 0 : counts.received > 0 ? 4 : 6) - share;
}

/**
 * Returns the rows that match a query, sorted. Unknown values come last in both directions; equal rows are sorted by name.
 *
 * @param rows rows sorted by name
 */
export function listRows(
  rows: Iterable<EventRow>,
  { q, sort, dir, show }: ListQuery,
  reading: Reading,
): readonly EventRow[] {
  const needle = q.trim().toLowerCase();
  const shown: EventRow[] = [];
  for (const row of rows) {
    if (!matches(row.status, show)) continue;
    if (needle === '' || row.type.toLowerCase().includes(needle)) shown.push(row);
  }
  if (sort === 'type') return dir === 'asc' ? shown : shown.reverse();
  const sortValue = SORT_VALUE[sort];
  return sortBy(shown, (row) => sortValue(row, reading), dir === 'asc' ? 1 : -1);
}

// The sort is stable, so equal rows stay sorted by name.
function sortBy(
  rows: readonly EventRow[],
  sortValue: (row: EventRow) => number | null,
  sign: number,
): readonly EventRow[] {
  return rows
    .map((row) => ({ row, value: sortValue(row) }))
    .sort((a, b) => {
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
      return sign * (a.value - b.value);
    })
    .map(({ row }) => row);
}

function matches(status: EventStatus, show: Filter): boolean {
  return show === 'all' || status === show || (show === 'problems' && (status === 'failing' || status === 'attention'));
}

/** Counts the rows that each filter would show. */
export function countByFilter(rows: Iterable<EventRow>): Record<Filter, number> {
  const byStatus = { failing: 0, attention: 0, active: 0, idle: 0, never: 0 };
  let all = 0;
  for (const { status } of rows) {
    all++;
    byStatus[status]++;
  }
  const { failing, attention, active, idle, never } = byStatus;
  return { all, problems: failing + attention, failing, active, idle, never };
}

/**
 * Returns the order while rows must not move: visible rows stay in place, even if the query no longer matches them, and
 * new rows come last.
 */
export function holdOrder<T>(
  shown: readonly T[],
  fresh: readonly T[],
  isRegistered: (row: T) => boolean,
): readonly T[] {
  const known = new Set(shown);
  return [...shown.filter(isRegistered), ...fresh.filter((row) => !known.has(row))];
}
