import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatMoment } from '../format/clock-time.js';
import { formatCount } from '../format/number.js';

export interface ViewTableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  /** Rows. */
  readonly children: ComponentChildren;
  readonly class?: string;
}

/** Table of a view. In little width each row is a list of its values. */
export function ViewTable({ caption, columns, children, class: name = '' }: ViewTableProps): JSX.Element {
  return (
    <div class="card">
      <table class={`view-table ${name}`}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export interface ViewTableCellProps {
  /** Label of the column, which the cell shows if the table has no columns. */
  readonly label: string;
  readonly isFailed?: boolean;
  readonly children: ComponentChildren;
}

/** Value in a row of a view's table. */
export function ViewTableCell({ label, isFailed = false, children }: ViewTableCellProps): JSX.Element {
  return (
    <td data-label={label} class={isFailed ? 'tone-failed' : undefined}>
      <div>{children}</div>
    </td>
  );
}

/** Further line below a value. */
export function ViewTableNote({ children }: { children: ComponentChildren }): JSX.Element {
  return <span class="view-table-note">{children}</span>;
}

export interface BoundedRowsProps<T> {
  readonly items: readonly T[];
  /** Number of items that are shown first. */
  readonly limit: number;
  /** Items in words, in the plural. */
  readonly noun: string;
  /** Number of columns of the table. */
  readonly columns: number;
  /** Returns the rows of an item. */
  readonly children: (item: T) => ComponentChildren;
}

/** First rows of a table, with a button that shows all. A single further row takes the place of the button. */
export function BoundedRows<T>({ items, limit, noun, columns, children }: BoundedRowsProps<T>): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const isLong = items.length > limit + 1;
  return (
    <>
      {(isLong && !isOpen ? items.slice(0, limit) : items).map(children)}
      {isLong && (
        <tr class="more-row">
          <td colSpan={columns}>
            <button type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {isOpen ? `Show the first ${limit}` : `Show all ${formatCount(items.length)} ${noun}`}
            </button>
          </td>
        </tr>
      )}
    </>
  );
}

/** Time in the time zone of the viewer. */
export function Moment({ at }: { at: number }): JSX.Element {
  return <time dateTime={new Date(at).toISOString()}>{formatMoment(at, Date.now())}</time>;
}
