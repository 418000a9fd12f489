import type { EventRow, RowView } from './event-row.js';
import type { EventStatus } from './event-status.js';
import type { Filter, Route, SortKey } from './route.js';

/** What decides which rows the table shows, and in what order. */
export type ListQuery = Pick<Route, 'q' | 'sort' | 'dir' | 'show'>;

type SortValue = string | number | null;

const STATUS_RANK: Record<EventStatus, number> = { failing: 0, active: 1, idle: 2, never: 3 };

const SORT_VALUE: Record<SortKey, (type: string, view: RowView) => SortValue> = {
  status: (_, view) => STATUS_RANK[view.status],
  type: (type) => type,
  received: (_, view) => view.received,
  completed: (_, view) => view.completed,
  failed: (_, view) => view.failed,
  rate: (_, view) => view.ratePerSecond,
  failures: (_, view) => view.failureRatio,
  recent: (_, view) => view.recent,
};

const byName = new Intl.Collator('en', { numeric: true }).compare;

/** The types that a query shows, in its order. Unknown values come last in both directions; equals stand by name. */
export function listTypes(rows: Iterable<EventRow>, { q, sort, dir, show }: ListQuery): readonly string[] {
  const needle = q.trim().toLowerCase();
  const sortValue = SORT_VALUE[sort];
  const sign = dir === 'asc' ? 1 : -1;
  const shown: { type: string; value: SortValue }[] = [];
  for (const { type, view } of rows) {
    if (show !== 'all' && view.value.status !== show) continue;
    if (!type.toLowerCase().includes(needle)) continue;
    shown.push({ type, value: sortValue(type, view.value) });
  }
  shown.sort((a, b) => compare(a.value, b.value, sign) || byName(a.type, b.type));
  return shown.map(({ type }) => type);
}

function compare(a: SortValue, b: SortValue, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === 'string' || typeof b === 'string') return sign * byName(String(a), String(b));
  return sign * (a - b);
}

/** How many types each filter would show. */
export function countByFilter(rows: Iterable<EventRow>): Record<Filter, number> {
  const counts: Record<Filter, number> = { all: 0, failing: 0, active: 0, idle: 0, never: 0 };
  for (const { view } of rows) {
    counts.all++;
    counts[view.value.status]++;
  }
  return counts;
}

/**
 * The order to show while rows must not move: those shown stay where they are, even where the query no longer matches
 * them, and new ones come last.
 */
export function holdOrder(
  shown: readonly string[],
  fresh: readonly string[],
  isRegistered: (type: string) => boolean,
): readonly string[] {
  const known = new Set(shown);
  return [...shown.filter(isRegistered), ...fresh.filter((type) => !known.has(type))];
}
