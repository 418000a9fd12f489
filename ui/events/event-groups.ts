import type { PeriodCounts } from '../../server/dashboard/protocol.js';
import { type EventRow, type Reading, shownCounts, shownRate, shownReceived } from '../state/event-row.js';
import { failureRatio, TREND_MINUTES, type Trend, trendOf } from '../state/recent-activity.js';

/** Row of the table: an event type or the header of a group. */
export type ListItem = EventRow | EventGroup;

/** Group of event types with a common prefix, with the sums of their columns. */
export interface EventGroup extends Trend {
  readonly kind: 'group';
  /** Common prefix of the types; empty for types without one. */
  readonly prefix: string;
  /** Number of event types. */
  readonly types: number;
  /** Number of failing event types. */
  readonly failing: number;
  /** Highest failure rate of a failing type in the last 5 minutes; `null` if no type is failing. */
  readonly failingRatio: number | null;
  readonly isOpen: boolean;
  readonly ratePerSecond: number | null;
  readonly failed: number;
  readonly failureRatio: number | null;
  readonly pending: number;
  readonly retried: number;
  readonly received: number;
}

/** Returns the part of a name before its first ".", ":" or "/"; empty if it has none. */
export function prefixOf(type: string): string {
  return /^[^.:/]*(?=[.:/])/.exec(type)?.[0] ?? '';
}

/**
 * Groups rows by prefix. Each group header precedes its rows; a collapsed group has only the header. Groups are in the
 * order of their first rows.
 */
export function groupItems(
  rows: readonly EventRow[],
  closed: readonly string[],
  reading: Reading,
): readonly ListItem[] {
  const groups = new Map<string, EventRow[]>();
  for (const row of rows) {
    const prefix = prefixOf(row.type);
    const group = groups.get(prefix);
    if (group === undefined) groups.set(prefix, [row]);
    else group.push(row);
  }
  return [...groups].flatMap(([prefix, members]) => {
    const group = groupOf(prefix, members, !closed.includes(prefix), reading);
    return group.isOpen ? [group, ...members] : [group];
  });
}

function groupOf(prefix: string, members: readonly EventRow[], isOpen: boolean, reading: Reading): EventGroup {
  const sum = (of: (row: EventRow) => number): number => members.reduce((total, row) => total + of(row), 0);
  const sumCounts = (of: (counts: PeriodCounts) => number): number => sum((row) => of(shownCounts(row, reading)));
  const counts = {
    completed: sumCounts(({ completed }) => completed),
    failed: sumCounts(({ failed }) => failed),
    cancelled: sumCounts(({ cancelled }) => cancelled),
  };
  const failing = members.filter(({ status }) => status === 'failing');
  const rates = members.map((row) => shownRate(row, reading));
  return {
    kind: 'group',
    prefix,
    types: members.length,
    failing: failing.length,
    failingRatio: failing.length === 0 ? null : Math.max(...failing.map(({ last5Min }) => failureRatio(last5Min) ?? 0)),
    isOpen,
    ratePerSecond: rates.every((rate) => rate === null)
      ? null
      : rates.reduce<number>((all, rate) => all + (rate ?? 0), 0),
    failed: counts.failed - counts.cancelled,
    failureRatio: failureRatio(counts),
    pending: sum((row) => row.count('pending')),
    retried: sumCounts(({ retried }) => retried),
    received: sum((row) => shownReceived(row, reading)),
    ...trendOf(sumMinutes(members)),
  };
}

/** Adds up the columns of the members, which end with the current minute. */
function sumMinutes(members: readonly EventRow[]): { received: number[]; failed: number[] } {
  const sums = { received: zeros(), failed: zeros() };
  for (const { minutes } of members) {
    addFromEnd(sums.received, minutes.received);
    addFromEnd(sums.failed, minutes.failed);
  }
  return sums;
}

function zeros(): number[] {
  return Array.from({ length: TREND_MINUTES }, () => 0);
}

function addFromEnd(sums: number[], counts: readonly number[]): void {
  const start = sums.length - counts.length;
  counts.forEach((count, index) => {
    sums[start + index] = (sums[start + index] ?? 0) + count;
  });
}
