import type { JSX } from 'preact';
import type { FailureRecord } from '../../../server/dashboard/protocol.js';
import { formatDateTime } from '../../format/clock-time.js';
import { UNKNOWN } from '../../format/count.js';
import { formatAgo } from '../../format/duration.js';
import { CopyButton } from '../../shared/copy-button.js';

export interface FailureListProps {
  /** `null` before the first response. */
  readonly failures: readonly FailureRecord[] | null;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Recent failures of an event type. */
export function FailureList({ failures, serverNow }: FailureListProps): JSX.Element {
  if (failures === null || failures.length === 0) {
    return <p class="muted">{failures === null ? UNKNOWN : 'None.'}</p>;
  }
  return (
    <ol class="failures">
      {failures.map(({ id, at, attempt, name, message }) => (
        <li key={id}>
          <p class="failure-head">
            <strong class="tone-failed">{name}</strong>
            <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)}>
              {formatAgo(serverNow - at)}
            </time>
          </p>
          <p class="failure-message">{message}</p>
          <p class="failure-facts">
            attempt {attempt} · <CopyButton isInline label={id} title="Copy the event id" text={() => id} />
          </p>
        </li>
      ))}
    </ol>
  );
}
