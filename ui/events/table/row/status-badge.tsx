import type { JSX } from 'preact';
import { Icon, type IconName } from '../../../controls/icon.js';
import { formatPercent } from '../../../format/ratio.js';
import { type EventStatus, failureLevel } from '../../../store/rows/event-status.js';

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
