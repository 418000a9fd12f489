import type { JSX } from 'preact';
import { formatAge } from '../format/duration.js';
import type { ConnectionState } from '../polling/connection-state.js';
import { Icon, type IconName } from '../shared/icon.js';

const LOOK: Record<ConnectionState['kind'], readonly [icon: IconName, label: string]> = {
  connecting: ['dashes', 'Connecting'],
  live: ['dot', 'Live'],
  slow: ['clock', 'Slow'],
  paused: ['pause', 'Paused'],
  snapshot: ['snapshot', 'Snapshot'],
  stale: ['clock', 'Stale'],
  lost: ['triangle', 'Lost'],
};

/** State of the connection in one word. */
export function ConnectionPill({ connection }: { connection: ConnectionState }): JSX.Element {
  const { kind } = connection;
  const [icon, label] = LOOK[kind];
  return (
    <span class={`pill is-${kind}`} title={kind === 'slow' ? 'Duration of the last request' : undefined}>
      <Icon name={icon} />
      {label}
      {kind === 'slow' && ` ${(connection.tookMs / 1_000).toFixed(1)} s`}
      {kind === 'stale' && ` ${formatAge(connection.ageMs)}`}
    </span>
  );
}
