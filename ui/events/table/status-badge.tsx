import type { JSX } from 'preact';
import { Icon, type IconName } from '../../controls/icon.js';
import type { EventStatus } from '../../store/event-status.js';

/** Look of each status, and the rule that decides it. */
const LOOK: Record<EventStatus, readonly [icon: IconName, label: string, rule: string]> = {
  failing: ['triangle', 'Failing', 'An event failed in the last 5 minutes'],
  attention: ['clock', 'Attention', 'There are open dead letters, or events wait too long'],
  active: ['dot', 'Active', 'A handler runs, or an event was received in the last minute'],
  idle: ['ring', 'Idle', 'No event was received in the last minute'],
  never: ['dashes', 'Never seen', 'No event was received since the start'],
};

/** Status of an event type: an icon, with a word if it is an exception or if `hasWord`. */
export function StatusBadge({ status, hasWord = false }: { status: EventStatus; hasWord?: boolean }): JSX.Element {
  const [icon, label, rule] = LOOK[status];
  const isLoud = status === 'failing' || status === 'attention';
  return (
    <span class={`status is-${status}`} title={`${label}: ${rule}`}>
      <Icon name={icon} />
      <span class={isLoud || hasWord ? undefined : 'visually-hidden'}>{label}</span>
    </span>
  );
}
