import type { ComponentChildren, JSX } from 'preact';
import type { ErrorGroup } from '../../server/dashboard/protocol.js';
import { formatCount } from '../format/number.js';
import { Ago } from './times.js';

export interface ErrorFactsProps {
  readonly group: Pick<ErrorGroup, 'name' | 'message' | 'firstSeenAt' | 'lastSeenAt'>;
  /** Number of failures, or of dead letters. */
  readonly count: number;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Content beside the name. */
  readonly children?: ComponentChildren;
}

/** Error of a group in three lines: how often and its name, its message, and when it was seen. */
export function ErrorFacts({ group, count, now, children }: ErrorFactsProps): JSX.Element {
  const { name, message, firstSeenAt, lastSeenAt } = group;
  return (
    <>
      <p class="failure-head">
        <strong class="tone-failed">×{formatCount(count)}</strong>
        <span class="failure-name">{name}</span>
        {children}
      </p>
      <p class="failure-message">{message}</p>
      <p class="view-table-note">
        first seen <Ago at={firstSeenAt} now={now} />, last <Ago at={lastSeenAt} now={now} />
      </p>
    </>
  );
}
