import type { JSX } from 'preact';
import { formatAge } from '../format/duration.js';
import type { Connection } from '../state/connection.js';
import { Icon, type IconName } from './icon.js';

const ICON: Record<Connection['kind'], IconName> = {
  connecting: 'dashes',
  live: 'dot',
  slow: 'clock',
  paused: 'pause',
  snapshot: 'snapshot',
  stale: 'clock',
  lost: 'triangle',
};

/** How fresh the numbers are, in a word. */
export function ConnectionPill({ connection }: { connection: Connection }): JSX.Element {
  return (
    <span class={`pill is-${connection.kind}`}>
      <Icon name={ICON[connection.kind]} />
      {label(connection)}
    </span>
  );
}

function label(connection: Connection): string {
  switch (connection.kind) {
    case 'connecting':
      return 'Connecting';
    case 'live':
      return 'Live';
    case 'slow':
      return `Answers take ${(connection.tookMs / 1_000).toFixed(1)} s`;
    case 'snapshot':
      return 'Snapshot';
    case 'paused':
      return 'Paused';
    case 'stale':
      return `Stale ${formatAge(connection.ageMs)}`;
    case 'lost':
      return 'Lost';
  }
}
