import type { JSX } from 'preact';
import { Icon } from '../../controls/icon.js';
import { type Direction, firstDirection, type SortKey } from '../../routing/route.js';
import { type Column, periodOf } from './columns.js';

export interface ColumnHeaderProps {
  readonly column: Column;
  /** Sort direction of the table; `null` if it is sorted by another column. */
  readonly sorted: Direction | null;
  /** True if a part of the chart is selected. */
  readonly hasRange: boolean;
  readonly onSort: (sort: SortKey, dir: Direction) => void;
}

/** Column header that sorts the table. */
export function ColumnHeader({ column, sorted, hasRange, onSort }: ColumnHeaderProps): JSX.Element {
  const next = sorted === null ? firstDirection(column.key) : sorted === 'asc' ? 'desc' : 'asc';
  const period = periodOf(column, hasRange);
  return (
    <th
      scope="col"
      class={`col-${column.key}`}
      aria-sort={sorted === null ? 'none' : sorted === 'asc' ? 'ascending' : 'descending'}
    >
      <button type="button" class="sort" title={column.title} onClick={() => onSort(column.key, next)}>
        <span class="sort-label">
          {column.label}
          {sorted !== null && <Icon name={sorted === 'asc' ? 'up' : 'down'} />}
        </span>
        {period && <span class="sort-period"> {period}</span>}
      </button>
    </th>
  );
}
