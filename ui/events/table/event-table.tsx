import type { JSX, RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import type { Navigation } from '../../routing/navigation.js';
import { useInteraction } from '../../shared/use-interaction.js';
import { useVisibleRange } from '../../shared/use-visible-range.js';
import type { HubStore } from '../../store/hub-store.js';
import { holdOrder } from '../../store/rows/event-list.js';
import type { EventRow } from '../../store/rows/event-row.js';
import { ColumnHeader } from './column-header.js';
import { COLUMNS, NARROW, periodOf } from './columns.js';
import { groupItems, type ListItem } from './event-groups.js';
import { EventTableRow } from './row/event-table-row.js';
import { GroupRow } from './row/group-row.js';
import { type RowFocus, useRowFocus } from './use-row-focus.js';

export interface EventTableProps {
  readonly store: HubStore;
  /** Rows to show, in the current sort order. */
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
  const reading = store.reading.value;
  const order = useOrder(fresh, [q, sort, dir, show, selection?.from, selection?.to].join('\n'), isActive, rows);
  const items: readonly ListItem[] = group === 'prefix' ? groupItems(order, closed, reading) : order;
  const shownTypes = (): string[] => items.flatMap((item) => (item.kind === 'row' ? item.type : []));
  const wanted = useRowFocus(focusRef, shownTypes, focusedType ?? navigation.openType.value);
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
      <table class="long-table events-table" aria-rowcount={items.length + 1}>
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
              <GroupRow key={`group ${item.prefix}`} group={item} index={index} navigation={navigation} />
            ) : (
              <EventTableRow key={`type ${item.type}`} row={item} index={index} navigation={navigation} />
            ),
          )}
        </tbody>
      </table>
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
      {COLUMNS.filter(({ key }) => NARROW.includes(key)).map((column) => (
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
  shown.current = { query, order: isSame(order, fresh) ? fresh : order };
  return shown.current.order;
}

function isSame<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
