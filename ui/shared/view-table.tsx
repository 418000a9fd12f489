import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { formatCount } from '../format/number.js';
import { compareNames } from '../state/hub-store.js';
import { Select } from './choices.js';
import { Icon } from './icon.js';
import { useInteraction } from './use-element.js';

export interface ViewTableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  /** Rows. */
  readonly children: ComponentChildren;
  readonly class?: string | undefined;
  /** Order of the rows, from `useSorted`. Absent if the reader cannot choose it. */
  readonly order?: TableOrder;
}

/** Table of a view. In little width each row is a list of its values. */
export function ViewTable({ caption, columns, children, class: name = '', order }: ViewTableProps): JSX.Element {
  return (
    <div class="card" ref={order?.table ?? null}>
      {order?.hasChoice && (
        <div class="view-table-sort">
          <Select
            label="Sort by"
            options={order.sortable}
            nameOf={(column) => `Sort by: ${column}`}
            value={order.column}
            onChange={order.sort}
          />
        </div>
      )}
      <table class={`view-table ${name}`}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((label) => (
              <ColumnHeader key={label} label={label} order={order} />
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function ColumnHeader({ label, order }: { label: string; order: TableOrder | undefined }): JSX.Element {
  const [name, period] = label.split(', ');
  const isSorted = order?.column === label;
  const title = (
    <>
      {name}
      {isSorted && <Icon name={order.isDown ? 'down' : 'up'} />}
      {period !== undefined && <span class="view-table-note">{period}</span>}
    </>
  );
  if (order?.sortable.includes(label) !== true) return <th scope="col">{title}</th>;
  return (
    <th scope="col" aria-sort={isSorted ? (order.isDown ? 'descending' : 'ascending') : 'none'}>
      <button type="button" class="view-sort" onClick={() => order.sort(label)}>
        {title}
      </button>
    </th>
  );
}

/** Order of a table that its reader chooses. */
export interface TableOrder {
  /** Column by which the rows are sorted. */
  readonly column: string;
  readonly isDown: boolean;
  readonly sortable: readonly string[];
  /** There are several rows to sort. */
  readonly hasChoice: boolean;
  /** Element in which the pointer and the focus hold the order. */
  readonly table: RefObject<HTMLDivElement | null>;
  /** Sorts by a column; by the column of now, in the other direction. */
  sort(column: string): void;
}

/**
 * Returns items in the order that the reader chose, and the order for `ViewTable`. Rows stay in place while the pointer or
 * the focus is in the table.
 *
 * @param columns returns what to sort by per column: numbers from the largest, texts from A, unknown values last
 */
export function useSorted<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  first: string,
  columns: Readonly<Record<string, (item: T) => number | string | null>>,
): readonly [sorted: readonly T[], order: TableOrder] {
  const table = useRef<HTMLDivElement>(null);
  const { isActive } = useInteraction(table);
  const [chosen, setChosen] = useState({ column: first, isFlipped: false });
  const shown = useRef({ chosen, keys: new Map<string, number>() });
  const sortValue = columns[chosen.column] ?? (() => null);
  const values = new Map(items.map((item) => [item, sortValue(item)]));
  const isText = items.some((item) => typeof values.get(item) === 'string');
  const isDown = isText === chosen.isFlipped;
  const holds = isActive && shown.current.chosen === chosen;
  const placeOf = (item: T): number => shown.current.keys.get(keyOf(item)) ?? Number.POSITIVE_INFINITY;
  const sorted = [...items].sort(
    holds
      ? (a, b) => placeOf(a) - placeOf(b) || 0
      : (a, b) => compareValues(values.get(a) ?? null, values.get(b) ?? null, isDown),
  );
  shown.current = { chosen, keys: new Map(sorted.map((item, index) => [keyOf(item), index])) };
  const sort = (column: string): void =>
    setChosen({ column, isFlipped: column === chosen.column && !chosen.isFlipped });
  const order = { column: chosen.column, isDown, sortable: Object.keys(columns), hasChoice: items.length > 1 };
  return [sorted, { ...order, table, sort }];
}

/** Compares numbers or texts; unknown values come last in both directions. */
export function compareValues(a: number | string | null, b: number | string | null, isDown: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : compareNames(String(a), String(b));
  return isDown ? -order : order;
}

export interface ViewTableCellProps {
  /** Label of the column, which the cell shows if the table has no columns. */
  readonly label: string;
  readonly isFailed?: boolean;
  /** Number of rows that share the value. @default 1 */
  readonly rows?: number;
  readonly children: ComponentChildren;
}

/** Value in a row of a view's table. */
export function ViewTableCell({ label, isFailed = false, rows, children }: ViewTableCellProps): JSX.Element {
  return (
    <td data-label={label} rowSpan={rows} class={isFailed ? 'tone-failed' : undefined}>
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
  readonly children: (item: T, index: number) => ComponentChildren;
}

/** First rows of a table, with a button that shows all. */
export function BoundedRows<T>({ items, limit, noun, columns, children }: BoundedRowsProps<T>): JSX.Element {
  const [shown, button] = useBounded(items, limit, noun);
  return (
    <>
      {shown.map(children)}
      {button && (
        <tr>
          <td colSpan={columns}>{button}</td>
        </tr>
      )}
    </>
  );
}

export interface TablePartProps<T>
  extends Omit<BoundedRowsProps<T>, 'columns'>,
    Pick<ViewTableProps, 'columns' | 'class'> {
  /** Heading, and name of the table. */
  readonly title: string;
  /** Number or period of the rows, beside the heading. */
  readonly note: string;
}

/** Part of a view: a heading and the first rows of a table. Absent if there are none. */
export function TablePart<T>({ title, note, columns, class: name, ...rows }: TablePartProps<T>): JSX.Element | null {
  if (rows.items.length === 0) return null;
  return (
    <>
      <h3 class="view-part">
        {title} <span class="panel-period">{note}</span>
      </h3>
      <ViewTable caption={title} columns={columns} class={name}>
        <BoundedRows {...rows} columns={columns.length} />
      </ViewTable>
    </>
  );
}

/**
 * Returns the first items of a list, and a button that shows all. A single further item takes the place of the button.
 *
 * @param limit number of items that are shown first
 * @param noun items in words, in the plural
 */
export function useBounded<T>(
  items: readonly T[],
  limit: number,
  noun: string,
): readonly [shown: readonly T[], button: JSX.Element | null] {
  const [isOpen, setOpen] = useState(false);
  if (items.length <= limit + 1) return [items, null];
  return [
    isOpen ? items : items.slice(0, limit),
    <button key="more" type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {isOpen ? `Show the first ${limit}` : `Show all ${formatCount(items.length)} ${noun}`}
    </button>,
  ];
}
