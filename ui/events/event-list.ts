import { compareValues } from '../shared/view-table.js';
import type { EventRow, EventStatus, Reading } from '../state/event-row.js';
import type { Filter, Route } from '../state/navigation.js';
import { columnOf } from './event-columns.js';

/** Parts of the route that select and sort the rows of the table. */
export type ListQuery = Pick<Route, 'q' | 'sort' | 'dir' | 'show'>;

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
  const { order } = columnOf(sort);
  if (order === null) return dir === 'asc' ? shown : shown.reverse();
  // The sort is stable, so equal rows stay sorted by name.
  return shown
    .map((row) => ({ row, value: order(row, reading) }))
    .sort((a, b) => compareValues(a.value, b.value, dir === 'desc'))
    .map(({ row }) => row);
}

function matches(status: EventStatus, show: Filter): boolean {
  return show === 'all' || status === show || (show === 'problems' && (status === 'failing' || status === 'attention'));
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
