import type { JSX } from 'preact';
import { formatDateTime, formatTime } from '../format/clock-time.js';
import { formatAge } from '../format/duration.js';
import type { Connection } from '../polling/connection-state.js';
import type { Monitor } from '../polling/monitor.js';
import { Icon } from '../shared/icon.js';

export interface BannerProps {
  readonly monitor: Monitor;
  /** Leaves the snapshot. */
  readonly onLive: () => void;
}

/** Says what is wrong with the connection, since when, and what happens next, or what snapshot this is. Nothing while all is well. */
export function Banner({ monitor, onLive }: BannerProps): JSX.Element | null {
  const connection = monitor.connection.value;
  if (connection.kind === 'snapshot') {
    return (
      <section class="banner is-stale" aria-label="Snapshot">
        <Icon name="snapshot" />
        <p class="banner-text">
          <strong>Snapshot of {formatDateTime(monitor.serverNow.value)}.</strong> Nothing in it changes.
        </p>
        <button type="button" class="button" onClick={onLive}>
          Back to live
        </button>
      </section>
    );
  }
  if (connection.kind !== 'stale' && connection.kind !== 'lost') return null;
  return (
    <section class={`banner is-${connection.kind}`} aria-label="Connection">
      <Icon name={connection.kind === 'lost' ? 'triangle' : 'clock'} />
      <p class="banner-text">
        <strong>{problem(connection)}</strong> {since(monitor)} {next(monitor)}
      </p>
      <button type="button" class="button" onClick={monitor.refresh}>
        Try now
      </button>
    </section>
  );
}

function problem(connection: Extract<Connection, { kind: 'stale' | 'lost' }>): string {
  return connection.kind === 'lost' ? connection.error.message : 'The server is slow to answer.';
}

function since({ lastGoodAt, now }: Monitor): string {
  if (lastGoodAt.value === null) return 'There is no data yet.';
  const at = formatTime(performance.timeOrigin + lastGoodAt.value);
  return `Data is from ${at}, ${formatAge(now.value - lastGoodAt.value)} old.`;
}

function next({ nextAt, now }: Monitor): string {
  if (nextAt.value === null) return '';
  return `Next try in ${Math.max(1, Math.ceil((nextAt.value - now.value) / 1_000))} s.`;
}
