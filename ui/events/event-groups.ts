import { groupBy } from '../shared/lists.js';
import { type EventRow, failingRatio } from '../state/event-row.js';

/** Row of the table: an event type or the header of a group. */
export type ListItem = EventRow | EventGroup;

/** Group of event types with a common prefix. */
export interface EventGroup {
  readonly kind: 'group';
  /** Common prefix of the types; empty for types without one. */
  readonly prefix: string;
  readonly rows: readonly EventRow[];
  /** Number of failing event types. */
  readonly failing: number;
  /** Highest failure rate of a failing type in the last 5 minutes; `null` if no type is failing. */
  readonly failingRatio: number | null;
  readonly isOpen: boolean;
}

/** Returns the part of a name before its first ".", ":" or "/"; empty if it has none. */
export function prefixOf(type: string): string {
  return type.slice(0, Math.max(0, type.search(/[.:/]/)));
}

/**
 * Groups rows by prefix. Each group header precedes its rows; a collapsed group has only the header. Groups are in the
 * order of their first rows.
 */
export function groupItems(rows: readonly EventRow[], closed: readonly string[]): readonly ListItem[] {
  return [...groupBy(rows, ({ type }) => prefixOf(type))].flatMap(([prefix, members]) => {
    const failing = members.filter(({ status }) => status === 'failing');
    const group: EventGroup = {
      kind: 'group',
      prefix,
      rows: members,
      failing: failing.length,
      failingRatio: failing.length === 0 ? null : Math.max(...failing.map((row) => failingRatio(row) ?? 0)),
      isOpen: !closed.includes(prefix),
    };
    return group.isOpen ? [group, ...members] : [group];
  });
}
