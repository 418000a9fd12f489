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

/** The table's columns, in their order. */
export const COLUMNS: readonly Column[] = [
  { key: 'status', label: 'Status' },
  { key: 'type', label: 'Event type' },
  { key: 'received', ...COUNTER_LOOK.received },
  { key: 'completed', ...COUNTER_LOOK.completed },
  { key: 'failed', ...COUNTER_LOOK.failed },
  { key: 'rate', label: 'Per second', title: 'Received, over the last 10 seconds' },
  { key: 'failures', label: 'Failure %', title: 'Failed events as a part of those that ended' },
  { key: 'recent', label: 'Last 5 min', title: 'Received, as seen by this page' },
];

export interface ColumnHeaderProps {
  readonly column: Column;
  /** The direction that the table is sorted in by this column; `null`: it is sorted by another. */
  readonly sorted: Direction | null;
  readonly onSort: (sort: SortKey, dir: Direction) => void;
}

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
