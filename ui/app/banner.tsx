import type { JSX } from 'preact';
import { formatDateTime, formatTime } from '../format/clock-time.js';
import { formatAge } from '../format/duration.js';
import { Icon } from '../shared/icon.js';
import type { ConnectionState } from '../state/connection-state.js';
import type { Monitor } from '../state/monitor.js';

export interface BannerProps {
  readonly monitor: Monitor;
  /** Called to leave the snapshot. */
  readonly onLive: () => void;
}

/** Banner about a problem with the connection, or about the open snapshot. Absent while the connection is live. */
export function Banner({ monitor, onLive }: BannerProps): JSX.Element | null {
  const connection = monitor.connection.value;
  if (connection.kind === 'snapshot') {
    return (
      <section class="banner is-stale" aria-label="Snapshot">
        <Icon name="copy" />
        <p class="banner-text">
          <strong>Snapshot of {formatDateTime(monitor.serverNow.value)}.</strong> Its data does not change.
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
        Retry now
      </button>
    </section>
  );
}

function problem(connection: Extract<ConnectionState, { kind: 'stale' | 'lost' }>): string {
  return connection.kind === 'lost' ? connection.error.message : 'The server is slow to respond.';
}

function since({ lastGoodAt, now, serverNow }: Monitor): string {
  if (lastGoodAt.value === null) return 'There is no data yet.';
  const ageMs = now.value - lastGoodAt.value;
  return `The data is from ${formatTime(serverNow.value - ageMs)}, ${formatAge(ageMs)} old.`;
}

function next({ nextAt, now }: Monitor): string {
  if (nextAt.value === null) return '';
  return `Next attempt in ${Math.max(1, Math.ceil((nextAt.value - now.value) / 1_000))} s.`;
}
