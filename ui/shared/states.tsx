import type { JSX } from 'preact';
import { Icon, type IconName } from './icon.js';

type Look = readonly [icon: IconName, label: string, tone: string];

/** Icon, word and tone of each state of an event, a run, an attempt or a step. */
const LOOKS: ReadonlyMap<string, Look> = new Map([
  ['waiting', ['dashes', 'Waiting', 'waiting']],
  ['delayed', ['clock', 'Delayed', 'suspended']],
  ['active', ['running', 'Running', 'active']],
  ['retrying', ['refresh', 'Retrying', 'retrying']],
  ['suspended', ['clock', 'Suspended', 'suspended']],
  ['completed', ['check', 'Completed', 'completed']],
  ['filtered', ['check', 'Filtered', 'waiting']],
  ['failed', ['triangle', 'Failed', 'failed']],
  ['cancelled', ['close', 'Cancelled', 'waiting']],
  ['interrupted', ['close', 'Interrupted', 'suspended']],
]);

/** Returns how a state looks. A newer server may have states that this page does not know. */
export function lookOf(state: string): Look {
  return LOOKS.get(state) ?? ['dot', state, 'waiting'];
}

/** State with its icon. */
export function StateLabel({ state }: { state: string }): JSX.Element {
  const [icon, label, tone] = lookOf(state);
  return (
    <span class={`state is-${tone}`}>
      <Icon name={icon} />
      {label}
    </span>
  );
}
