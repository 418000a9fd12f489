import type { EventRow } from '../../store/event-row.js';
import type { Tally } from '../../store/history.js';

/** Row of the table: an event type or the header of a group. */
export type ListItem = EventRow | EventGroup;

/** Group of event types with a common prefix. */
export interface EventGroup extends Tally {
  readonly kind: 'group';
  /** Common prefix of the types; empty for types without one. */
  readonly prefix: string;
  /** Number of event types. */
  readonly types: number;
  /** Number of failing event types. */
  readonly failing: number;
  readonly isOpen: boolean;
}

/** Returns the part of a name before its first ".", ":" or "/"; empty if it has none. */
export function prefixOf(type: string): string {
  return /^[^.:/]*(?=[.:/])/.exec(type)?.[0] ?? '';
}

/**
 * Groups rows by prefix. Each group header precedes its rows; a collapsed group has only the header. Groups are in the
 * order of their first rows.
 */
export function groupItems(rows: readonly EventRow[], closed: readonly string[]): readonly ListItem[] {
  const groups = new Map<string, EventRow[]>();
  for (const row of rows) {
    const prefix = prefixOf(row.type);
    const group = groups.get(prefix);
    if (group === undefined) groups.set(prefix, [row]);
    else group.push(row);
  }
  return [...groups].flatMap(([prefix, members]) => {
    const group = groupOf(prefix, members, !closed.includes(prefix));
    return group.isOpen ? [group, ...members] : [group];
  });
}

function groupOf(prefix: string, members: readonly EventRow[], isOpen: boolean): EventGroup {
  let [received, completed, failed, failing] = [0, 0, 0, 0];
  for (const { metrics, status } of members) {
    received += metrics.received;
    completed += metrics.completed;
    failed += metrics.failed;
    if (status === 'failing') failing++;
  }
  return { kind: 'group', prefix, types: members.length, failing, isOpen, received, completed, failed };
}
