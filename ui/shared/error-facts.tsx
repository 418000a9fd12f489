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

/** Age up to which an error still occurs. */
const RECENT_MS = 5 * 60_000;

export function stillFails({ lastSeenAt }: Pick<ErrorGroup, 'lastSeenAt'>, now: number): boolean {
  return now - lastSeenAt < RECENT_MS;
}

/** Error of a group in three lines: how often and its message, its name, and when it was seen. May stand in a label. */
export function ErrorFacts({ group, count, now, children }: ErrorFactsProps): JSX.Element {
  const { name, message, firstSeenAt, lastSeenAt } = group;
  const isRecent = stillFails(group, now);
  return (
    <>
      <strong class="failure-message">
        <span class="tone-failed">×{formatCount(count)}</span> <span>{message || name}</span>
      </strong>
      <span class="failure-head">
        {message && <span class="tone-failed">{name}</span>}
        {children}
      </span>
      <span class="view-table-note">
        <span class={isRecent ? 'tone-failed' : undefined}>
          {isRecent && 'still fails, '}last seen <Ago at={lastSeenAt} now={now} />
        </span>
        , first <Ago at={firstSeenAt} now={now} />
      </span>
    </>
  );
}
