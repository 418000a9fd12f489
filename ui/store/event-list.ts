import type { Filter, Route, SortKey } from '../routing/route.js';
import { type EventRow, failureRatio } from './event-row.js';
import type { EventStatus } from './event-status.js';
import { increaseOver, ratePerSecond } from './history.js';

/** Parts of the route that select and sort the rows of the table. */
export type ListQuery = Pick<Route, 'q' | 'sort' | 'dir' | 'show'>;

const STATUS_RANK: Record<EventStatus, number> = { failing: 0, active: 1, idle: 2, never: 3 };

const SORT_VALUE: Record<Exclude<SortKey, 'type'>, (row: EventRow) => number | null> = {
  status: ({ status }) => STATUS_RANK[status],
  received: ({ metrics }) => metrics.received,
  completed: ({ metrics }) => metrics.completed,
  failed: ({ metrics }) => metrics.failed,
  rate: ({ history }) => ratePerSecond(history),
  failures: ({ metrics }) => failureRatio(metrics),
  recent: ({ history }) => increaseOver(history).received,
};

/**
 * Returns the rows that match a query, sorted. Unknown values come last in both directions; equal rows are sorted by name.
 *
 * @param rows rows sorted by name
 */
export function listRows(rows: Iterable<EventRow>, { q, sort, dir, show }: ListQuery): readonly EventRow[] {
  const needle = q.trim().toLowerCase();
  const shown: EventRow[] = [];
  for (const row of rows) {
    if (show !== 'all' && row.status !== show) continue;
    if (needle === '' || row.type.toLowerCase().includes(needle)) shown.push(row);
  }
  if (sort !== 'type') return sortBy(shown, SORT_VALUE[sort], dir === 'asc' ? 1 : -1);
  return dir === 'asc' ? shown : shown.reverse();
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

/** Counts the rows that each filter would show. */
export function countByFilter(rows: Iterable<EventRow>): Record<Filter, number> {
  const counts: Record<Filter, number> = { all: 0, failing: 0, active: 0, idle: 0, never: 0 };
  for (const { status } of rows) {
    counts.all++;
    counts[status]++;
  }
  return counts;
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
