import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount } from '../../format/count.js';

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
