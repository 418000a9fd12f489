import type { JSX } from 'preact';
import { Icon, type IconName } from '../controls/icon.js';
import type { State } from './step-state.js';

export const STATE_LABEL: Record<State, string> = {
  waiting: 'Waiting',
  active: 'Running',
  retrying: 'Retrying',
  suspended: 'Suspended',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export const STATE_ICON: Record<State, IconName> = {
  waiting: 'dashes',
  active: 'running',
  retrying: 'refresh',
  suspended: 'pause',
  completed: 'check',
  failed: 'triangle',
  cancelled: 'close',
};

/** Status of a run or of a step, with its icon. */
export function RunState({ status }: { status: State }): JSX.Element {
  return (
    <span class={`state is-${status}`}>
      <Icon name={STATE_ICON[status]} />
      {STATE_LABEL[status]}
    </span>
  );
}
