import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { holdOrder } from '../state/event-list.js';
import type { EventRow } from '../state/event-row.js';
import type { Navigation } from '../state/navigation.js';
import { COLUMNS, ColumnHeader } from './column-header.js';
import { EventTableRow } from './event-table-row.js';

export interface EventTableProps {
  readonly rows: ReadonlyMap<string, EventRow>;
  /** The types to show, in the order that the numbers now ask for. */
  readonly types: readonly string[];
  readonly navigation: Navigation;
}

/** The table of event types. Rows don't move under a pointer or the focus. */
export function EventTable({ rows, types, navigation }: EventTableProps): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const held = useHeld(body);
  const { q, sort, dir, show } = navigation.route.value;
  const order = useOrder(types, [q, sort, dir, show].join('\n'), held, rows);
  return (
    <div class="table-card card">
      <table class="events-table">
        <caption class="visually-hidden">Event types with their counts. The column headers sort.</caption>
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <ColumnHeader
                key={column.key}
                column={column}
                sorted={column.key === sort ? dir : null}
                onSort={(key, direction) => navigation.go({ sort: key, dir: direction })}
              />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {order.map((type) => {
            const row = rows.get(type);
            return row && <EventTableRow key={type} row={row} navigation={navigation} />;
          })}
        </tbody>
      </table>
      <p class="table-note">{held && order !== types ? 'The order holds while you are in the table.' : ''}</p>
    </div>
  );
}

/** Whether the pointer or the focus is within an element. */
function useHeld(ref: { readonly current: HTMLElement | null }): boolean {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const listeners: readonly [string, () => void][] = [
      ['pointerenter', () => setPointed(true)],
      ['pointerleave', () => setPointed(false)],
      ['focusin', () => setFocused(true)],
      ['focusout', () => setFocused(false)],
    ];
    for (const [name, listener] of listeners) element.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of listeners) element.removeEventListener(name, listener);
    };
  }, [ref]);
  return pointed || focused;
}

/** The order to show: the fresh one, or, while held and asked for the same, the one shown before. */
function useOrder(
  fresh: readonly string[],
  query: string,
  held: boolean,
  rows: ReadonlyMap<string, EventRow>,
): readonly string[] {
  const shown = useRef({ query, order: fresh });
  const keep = held && shown.current.query === query;
  const order = keep ? holdOrder(shown.current.order, fresh, (type) => rows.has(type)) : fresh;
  shown.current = { query, order: isSame(order, fresh) ? fresh : order };
  return shown.current.order;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
