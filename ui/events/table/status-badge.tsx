import type { JSX } from 'preact';
import { Icon, type IconName } from '../../shared/icon.js';
import type { EventStatus } from '../../store/event-status.js';

/** Label of each status. */
export const STATUS_LABEL: Record<EventStatus, string> = {
  failing: 'Failing',
  active: 'Active',
  idle: 'Idle',
  never: 'Never seen',
};

const ICON: Record<EventStatus, IconName> = { failing: 'triangle', active: 'dot', idle: 'ring', never: 'dashes' };

/** Status of an event type with its icon. */
export function StatusBadge({ status }: { status: EventStatus }): JSX.Element {
  return (
    <span class={`badge is-${status}`}>
      <Icon name={ICON[status]} />
      {STATUS_LABEL[status]}
    </span>
  );
}
