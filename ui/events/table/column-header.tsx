import type { JSX } from 'preact';
import { type Direction, firstDirection, type SortKey } from '../../routing/route.js';
import { COUNTER_LOOK } from '../../shared/count-stats.js';
import { Icon, type IconName } from '../../shared/icon.js';

export interface Column {
  readonly key: SortKey;
  readonly label: string;
  readonly title?: string;
  readonly icon?: IconName;
}

/** Columns of the table, from left to right. */
export const COLUMNS: readonly Column[] = [
  { key: 'status', label: 'Status' },
  { key: 'type', label: 'Event type' },
  { key: 'received', ...COUNTER_LOOK.received },
  { key: 'completed', ...COUNTER_LOOK.completed },
  { key: 'failed', ...COUNTER_LOOK.failed },
  { key: 'rate', label: 'Per second', title: 'Events received per second over the last 10 seconds' },
  { key: 'failures', label: 'Failure rate', title: 'Failed events divided by completed and failed events' },
  {
    key: 'recent',
    label: 'Last 5 min',
    title: 'Events received since this page was opened, at most the last 5 minutes',
  },
];

export interface ColumnHeaderProps {
  readonly column: Column;
  /** Sort direction of the table; `null` if it is sorted by another column. */
  readonly sorted: Direction | null;
  readonly onSort: (sort: SortKey, dir: Direction) => void;
}

/** Column header that sorts the table. */
export function ColumnHeader({ column, sorted, onSort }: ColumnHeaderProps): JSX.Element {
  const next = sorted === null ? firstDirection(column.key) : sorted === 'asc' ? 'desc' : 'asc';
  return (
    <th
      scope="col"
      class={`col-${column.key}`}
      aria-sort={sorted === null ? 'none' : sorted === 'asc' ? 'ascending' : 'descending'}
    >
      <button type="button" class="sort" title={column.title} onClick={() => onSort(column.key, next)}>
        <span class="sort-label">
          {column.icon && <Icon name={column.icon} />}
          {column.label}
        </span>
        {sorted !== null && <Icon name={sorted === 'asc' ? 'up' : 'down'} />}
      </button>
    </th>
  );
}
