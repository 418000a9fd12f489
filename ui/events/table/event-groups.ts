import type { EventRow } from '../../store/event-row.js';
import type { Tally } from '../../store/history.js';

/** A line of the table: one event type, or the head of a group of them. */
export type ListItem = EventRow | GroupHead;

export interface GroupHead extends Tally {
  readonly kind: 'group';
  /** What its types have in common; empty for those that have none. */
  readonly prefix: string;
  readonly types: number;
  readonly failing: number;
  readonly isOpen: boolean;
}

/** The part of a type's name before its first ".", ":" or "/"; empty where it has none. */
export function prefixOf(type: string): string {
  return /^[^.:/]*(?=[.:/])/.exec(type)?.[0] ?? '';
}

/** Rows under the heads of their groups. Groups stand in the order of their first rows; of closed ones only the head. */
export function groupItems(rows: readonly EventRow[], closed: readonly string[]): readonly ListItem[] {
  const groups = new Map<string, EventRow[]>();
  for (const row of rows) {
    const prefix = prefixOf(row.type);
    const group = groups.get(prefix);
    if (group === undefined) groups.set(prefix, [row]);
    else group.push(row);
  }
  return [...groups].flatMap(([prefix, members]) => {
    const head = headOf(prefix, members, !closed.includes(prefix));
    return head.isOpen ? [head, ...members] : [head];
  });
}

function headOf(prefix: string, members: readonly EventRow[], isOpen: boolean): GroupHead {
  let [received, completed, failed, failing] = [0, 0, 0, 0];
  for (const { metrics, status } of members) {
    received += metrics.received;
    completed += metrics.completed;
    failed += metrics.failed;
    if (status === 'failing') failing++;
  }
  return { kind: 'group', prefix, types: members.length, failing, isOpen, received, completed, failed };
}
