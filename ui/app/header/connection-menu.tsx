import type { JSX } from 'preact';
import { Choices } from '../../controls/choices.js';
import { Icon, type IconName } from '../../controls/icon.js';
import { Menu } from '../../controls/menu.js';
import { formatAge } from '../../format/duration.js';
import type { ConnectionState } from '../../polling/connection-state.js';
import type { Monitor } from '../../polling/monitor.js';
import type { Navigation } from '../../routing/navigation.js';
import { INTERVALS, type Interval } from '../../routing/route.js';

const LOOK: Record<ConnectionState['kind'], readonly [icon: IconName, label: string]> = {
  connecting: ['dashes', 'Connecting'],
  live: ['dot', 'Live'],
  slow: ['clock', 'Slow'],
  paused: ['pause', 'Paused'],
  snapshot: ['snapshot', 'Snapshot'],
  stale: ['clock', 'Stale'],
  lost: ['triangle', 'Lost'],
};

export interface ConnectionMenuProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** State of the connection in one word, with the poll interval, a refresh and a pause. */
export function ConnectionMenu({ monitor, navigation }: ConnectionMenuProps): JSX.Element {
  const connection = monitor.connection.value;
  const { every } = navigation.route.value;
  const [icon, label] = LOOK[connection.kind];
  const fact = factOf(connection, every, monitor);
  const state = (
    <>
      <Icon name={icon} />
      <span>{label}</span>
      {fact !== '' && <span class="connection-fact"> {fact}</span>}
    </>
  );
  if (connection.kind === 'snapshot') return <span class="connection is-snapshot">{state}</span>;
  const poll = (next: Interval): void => navigation.go({ every: next }, { replace: true });
  return (
    <Menu
      class={`connection is-${connection.kind}`}
      button={
        <>
          {state}
          <Icon name="open" />
        </>
      }
    >
      {(close) => (
        <>
          <Choices
            label="Refresh every"
            options={INTERVALS}
            nameOf={(option) => (option === 'off' ? 'Off' : `${option} s`)}
            value={every}
            onChange={poll}
          />
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              monitor.refresh();
              close();
            }}
          >
            <Icon name="refresh" /> Refresh now <kbd>r</kbd>
          </button>
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              poll(every === 'off' ? '2' : 'off');
              close();
            }}
          >
            <Icon name={every === 'off' ? 'closed' : 'pause'} /> {every === 'off' ? 'Resume' : 'Pause'} <kbd>p</kbd>
          </button>
        </>
      )}
    </Menu>
  );
}

/** Returns the interval, or the age of the data if it is not live. */
function factOf(connection: ConnectionState, every: Interval, { now, lastGoodAt }: Monitor): string {
  switch (connection.kind) {
    case 'live':
      return `${every} s`;
    case 'slow':
      return `${(connection.tookMs / 1_000).toFixed(1)} s`;
    case 'stale':
      return formatAge(connection.ageMs);
    case 'paused':
    case 'lost':
      return lastGoodAt.value === null ? '' : formatAge(now.value - lastGoodAt.value);
    default:
      return '';
  }
}
