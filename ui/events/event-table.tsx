import type { ReadonlySignal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { formatCount } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { useInteraction, useVisibleRange } from '../shared/use-element.js';
import { type EventRow, failureLevel, type Reading } from '../state/event-row.js';
import type { HubStore } from '../state/hub-store.js';
import { type Direction, firstDirection, type Navigation, type SortKey, viewPath } from '../state/navigation.js';
import { type Cell, COLUMNS, type Column, hasSameItems, periodOf, TRACKS, watchCells } from './event-columns.js';
import { type RowFocus, useRowFocus } from './event-focus.js';
import { type EventGroup, groupItems, type ListItem } from './event-groups.js';
import { holdOrder } from './event-list.js';
import { partedNames, TypeName } from './type-name.js';

/** Number of types without events from which they are one line. */
const MAX_UNSEEN = 8;

export interface EventTableProps {
  readonly store: HubStore;
  /** Rows to show, in the current sort order. Many without events are one line at its end. */
  readonly order: readonly EventRow[];
  readonly navigation: Navigation;
  readonly focusRef: RefObject<RowFocus | null>;
}

/**
 * Table of event types. Rows stay in place while the pointer or the focus is in the table. Of thousands of rows, only those
 * near the viewport are in the document.
 */
export function EventTable({ store, order: fresh, navigation, focusRef }: EventTableProps): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const { isActive, focusedType } = useInteraction(body);
  const rows = store.rows.value;
  const { q, sort, dir, show, group, closed, selection } = navigation.route.value;
  const parted = useMemo(() => partedNames(rows.keys()), [rows]);
  const reading = store.reading.value;
  const order = useOrder(fresh, [q, sort, dir, show, selection?.from, selection?.to].join('\n'), isActive, rows);
  const isWhole = show === 'all' && sort === 'status' && group === 'none' && q.trim() === '';
  const seen = order.filter(({ type, status }) => status !== 'never' || type === navigation.openType.value);
  const unseen = order.length - seen.length;
  const isFolded = useRef(false);
  // Rows neither appear nor vanish while the pointer or the focus is in the table.
  if (!isActive) isFolded.current = seen.some(({ status }) => status !== 'never') && unseen > MAX_UNSEEN;
  const listed = isWhole && isFolded.current ? seen : order;
  const items: readonly ListItem[] = group === 'prefix' ? groupItems(listed, closed) : listed;
  const shownTypes = (): string[] => items.flatMap((item) => (item.kind === 'row' ? item.type : []));
  const { openType } = navigation;
  const wanted = useRowFocus(focusRef, shownTypes, openType.value ?? focusedType, (type) => {
    // The open panel moves along.
    if (openType.value !== null) navigation.go({ name: type }, { replace: true });
  });
  const { from, to } = useVisibleRange(body, items.length);
  // A focused row stays in the document even if it is scrolled out of view.
  const near: { readonly item: ListItem; readonly index: number }[] = [];
  const retained = wanted ?? focusedType;
  items.forEach((item, index) => {
    const isRetained = retained !== null && item.kind === 'row' && (item.type === wanted || item.type === focusedType);
    if (isRetained || (index >= from && index < to)) near.push({ item, index });
  });
  return (
    <div class="card">
      <NarrowPeriods hasRange={reading.range !== null} />
      <table class="long-table events-table" style={TRACKS} aria-rowcount={items.length + 1}>
        <caption class="visually-hidden">Event types with their counts. The column headers sort.</caption>
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map((column) => (
              <ColumnHeader
                key={column.key}
                column={column}
                hasRange={reading.range !== null}
                sorted={column.key === sort ? dir : null}
                onSort={(key, direction) => navigation.go({ sort: key, dir: direction })}
              />
            ))}
          </tr>
        </thead>
        <tbody ref={body} style={{ '--rows': items.length }}>
          {near.map(({ item, index }) =>
            item.kind === 'group' ? (
              <GroupRow
                key={`group ${item.prefix}`}
                group={item}
                index={index}
                reading={reading}
                navigation={navigation}
              />
            ) : (
              <EventTableRow
                key={`type ${item.type}`}
                row={item}
                index={index}
                partedAt={parted.get(item.type)}
                readings={store.reading}
                navigation={navigation}
              />
            ),
          )}
        </tbody>
      </table>
      {listed !== order && (
        <p class="table-note">
          <button type="button" class="attention-more" onClick={() => navigation.go({ show: 'never' })}>
            {formatCount(unseen)} types never seen
          </button>
        </p>
      )}
      <p class="table-note">
        {isActive && order !== fresh ? 'The order is held while the pointer or focus is in the table.' : ''}
      </p>
    </div>
  );
}

/** Periods of the numbers, on a page too narrow for the column headers. */
function NarrowPeriods({ hasRange }: { hasRange: boolean }): JSX.Element {
  return (
    <p class="table-periods">
      {COLUMNS.filter(({ narrow }) => narrow === 'period').map((column) => (
        <span key={column.key}>
          {column.label} {periodOf(column, hasRange)}
        </span>
      ))}
    </p>
  );
}

/** Returns the current order, or the previous one while it is held for the same query. */
function useOrder(
  fresh: readonly EventRow[],
  query: string,
  held: boolean,
  rows: ReadonlyMap<string, EventRow>,
): readonly EventRow[] {
  const shown = useRef({ query, order: fresh });
  const holds = held && shown.current.query === query;
  const order = holds ? holdOrder(shown.current.order, fresh, (row) => rows.get(row.type) === row) : fresh;
  shown.current = { query, order: hasSameItems(order, fresh) ? fresh : order };
  return shown.current.order;
}

export interface ColumnHeaderProps {
  readonly column: Column;
  /** Sort direction of the table; `null` if it is sorted by another column. */
  readonly sorted: Direction | null;
  /** True if a part of the chart is selected. */
  readonly hasRange: boolean;
  readonly onSort: (sort: SortKey, dir: Direction) => void;
}

/** Column header that sorts the table. */
function ColumnHeader({ column, sorted, hasRange, onSort }: ColumnHeaderProps): JSX.Element {
  const next = sorted === null ? firstDirection(column.key) : sorted === 'asc' ? 'desc' : 'asc';
  const period = periodOf(column, hasRange);
  return (
    <th
      scope="col"
      class={column.class}
      aria-sort={sorted === null ? 'none' : sorted === 'asc' ? 'ascending' : 'descending'}
    >
      <button type="button" class="sort" title={column.title} onClick={() => onSort(column.key, next)}>
        <span class="sort-label">
          {column.label}
          {sorted !== null && <Icon name={sorted === 'asc' ? 'up' : 'down'} />}
        </span>
        {period && <span> {period}</span>}
      </button>
    </th>
  );
}

interface EventTableRowProps {
  readonly row: EventRow;
  /** Index in the table body. */
  readonly index: number;
  /** Where its name is parted. */
  readonly partedAt: number | undefined;
  readonly readings: ReadonlySignal<Reading>;
  readonly navigation: Navigation;
}

/** Row of an event type. It renders only if one of its values changes. */
function EventTableRow({ row, index, partedAt, readings, navigation }: EventTableRowProps): JSX.Element {
  const isOpen = navigation.openType.value === row.type;
  const cells = useMemo(() => watchCells(row, readings), [row, readings]).value;
  return (
    <tr class="long-row row" data-open={isOpen} aria-rowindex={index + 2} style={{ '--index': index }}>
      {COLUMNS.map((column, at) =>
        column.key === 'type' ? (
          <th key={column.key} scope="row" class={column.class}>
            <a
              class="row-link"
              href={viewPath('events', row.type) + navigation.query.value}
              title={row.type}
              aria-label={row.type}
              aria-current={isOpen ? 'true' : undefined}
              data-type={row.type}
            >
              <TypeName type={row.type} partedAt={partedAt} />
            </a>
            {cells[at]?.render()}
          </th>
        ) : (
          <TableCell key={column.key} column={column} cell={cells[at]} />
        ),
      )}
    </tr>
  );
}

function TableCell({ column, cell }: { column: Column; cell: Cell | undefined }): JSX.Element {
  return (
    <td class={column.class} data-any={cell?.hasAny}>
      {cell?.render()}
    </td>
  );
}

interface GroupRowProps {
  readonly group: EventGroup;
  /** Index in the table body. */
  readonly index: number;
  readonly reading: Reading;
  readonly navigation: Navigation;
}

/** Header of a group of event types, with their sums. It expands and collapses the group. */
function GroupRow({ group, index, reading, navigation }: GroupRowProps): JSX.Element {
  const { prefix, rows, failing, isOpen } = group;
  const toggle = (): void => {
    const others = navigation.route.value.closed.filter((other) => other !== prefix);
    navigation.go({ closed: isOpen ? [...others, prefix] : others }, { replace: true });
  };
  const summed = COLUMNS.filter(({ readGroup }) => readGroup !== undefined);
  return (
    <tr class="long-row row group-row" aria-rowindex={index + 2} style={{ '--index': index }}>
      <th scope="rowgroup" class="col-type is-narrow is-start" colSpan={COLUMNS.length - summed.length}>
        <button type="button" class="group-toggle" aria-expanded={isOpen} onClick={toggle}>
          <Icon name={isOpen ? 'open' : 'closed'} />
          <bdi>{prefix === '' ? 'No prefix' : prefix}</bdi>
          <span class="chip-count">{rows.length}</span>
        </button>
        {failing > 0 && <span class={`tag is-failing is-${failureLevel(group.failingRatio)}`}>{failing} failing</span>}
      </th>
      {summed.map((column) => (
        <TableCell key={column.key} column={column} cell={column.readGroup?.(rows, reading)} />
      ))}
    </tr>
  );
}
