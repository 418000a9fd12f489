import type { SortKey } from '../../routing/route.js';

/** Column of the events table. */
export interface Column {
  readonly key: SortKey;
  readonly label: string;
  /** Period of the numbers, shown below the label; absent if there is none. */
  readonly period?: string;
  readonly title: string;
}

/** Columns of the table, from left to right. */
export const COLUMNS: readonly Column[] = [
  { key: 'status', label: 'Status', title: 'Failing, needs attention, active, idle or never seen' },
  { key: 'type', label: 'Event type', title: 'Name of the event type' },
  {
    key: 'trend',
    label: 'Trend',
    period: '20 min',
    title: 'Events received per minute, with the failed part at the foot. The last bar is the current minute so far',
  },
  { key: 'rate', label: 'Rate', period: '1 min', title: 'Events received per second or per minute' },
  { key: 'failed', label: 'Failed', period: '5 min', title: 'Events whose last attempt failed' },
  {
    key: 'failures',
    label: 'Failure rate',
    period: '5 min',
    title: 'Failed events divided by completed and failed events',
  },
  { key: 'pending', label: 'Pending', period: 'now', title: 'Events that have not ended' },
  { key: 'retried', label: 'Retried', period: '5 min', title: 'Failed attempts that were retried' },
  { key: 'received', label: 'Received', period: 'since start', title: 'Events accepted' },
];

/** Columns with a period in rows without column headers. */
export const NARROW: readonly SortKey[] = ['trend', 'rate', 'failures'];

/** Columns that follow the selected range of the chart. */
const RANGED: readonly SortKey[] = ['rate', 'failed', 'failures', 'retried', 'received'];

/** Returns the period of a column. */
export function periodOf({ key, period }: Column, hasRange: boolean): string | undefined {
  return hasRange && RANGED.includes(key) ? 'selected' : period;
}
