import type { JSX } from 'preact';
import { formatPercent } from '../format/number.js';
import { Icon, type IconName } from '../shared/icon.js';
import { type EventStatus, failureLevel } from '../state/event-row.js';
import type { SortKey } from '../state/navigation.js';
import { TREND_HEIGHT, TREND_WIDTH } from '../state/recent-activity.js';

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

/** Look of each status, and the rule that decides it. */
const LOOK: Record<EventStatus, readonly [icon: IconName, label: string, rule: string]> = {
  failing: ['triangle', 'Failing', 'An event failed in the last 5 minutes'],
  attention: ['clock', 'Attention', 'There are open dead letters, or events or approvals wait'],
  active: ['dot', 'Active', 'A handler runs, or an event was received in the last minute'],
  idle: ['ring', 'Idle', 'No event was received in the last minute'],
  never: ['dashes', 'Never seen', 'No event was received since the start'],
};

export interface StatusBadgeProps {
  readonly status: EventStatus;
  /** Failure rate of the last 5 minutes; `null` unless the type is failing. It decides how much the badge stands out. */
  readonly failingRatio: number | null;
  /** True if the badge always has a word. */
  readonly hasWord?: boolean;
}

/** Status of an event type: an icon, with a word if it is an exception or if `hasWord`. */
export function StatusBadge({ status, failingRatio, hasWord = false }: StatusBadgeProps): JSX.Element {
  const [icon, label, anyRule] = LOOK[status];
  const isLoud = status === 'failing' || status === 'attention';
  const level = status === 'failing' ? ` is-${failureLevel(failingRatio)}` : '';
  const rule =
    failingRatio === null ? anyRule : `${formatPercent(failingRatio)} of the events failed in the last 5 minutes`;
  return (
    <span class={`status is-${status}${level}`} title={`${label}: ${rule}`}>
      <Icon name={icon} />
      <span class={isLoud || hasWord ? undefined : 'visually-hidden'}>{label}</span>
    </span>
  );
}

/** Length from which a name gets an ellipsis in its middle if it does not fit. */
const LONG = 24;

/** Number of characters that always show at the end of a long name. */
const TAIL = 10;

/** Name of an event type. A long one that does not fit loses its middle, because types differ at both ends. */
export function TypeName({ type }: { type: string }): JSX.Element {
  const characters = [...type];
  if (characters.length <= LONG) return <bdi class="name-head">{type}</bdi>;
  return (
    <bdi class="name-parts">
      <span class="name-head">{characters.slice(0, -TAIL).join('')}</span>
      <span class="name-tail">{characters.slice(-TAIL).join('')}</span>
    </bdi>
  );
}

export interface TrendChartProps {
  /** Path data of the bars. */
  readonly received: string;
  readonly failed: string;
}

/** Bars of the last 20 minutes. The numbers are in the other columns. */
export function TrendChart({ received, failed }: TrendChartProps): JSX.Element {
  return (
    <svg class="trend" viewBox={`0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="trend-received" d={received} />
      <path class="trend-failed" d={failed} />
    </svg>
  );
}
