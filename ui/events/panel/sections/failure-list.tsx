import type { JSX } from 'preact';
import type { FailureRecord } from '../../../../server/dashboard/protocol.js';
import { formatDateTime } from '../../../format/clock-time.js';
import { formatAge, formatAgo } from '../../../format/duration.js';
import { IdLink } from '../../../shared/links/id-link.js';
import { type FailureGroup, groupFailures } from './failure-groups.js';
import { PanelSection } from './panel-section.js';

export interface FailureListProps {
  readonly failures: readonly FailureRecord[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Section with the errors of the last failures, grouped. Absent if there are none. */
export function FailureList({ failures, serverNow, query }: FailureListProps): JSX.Element | null {
  if (failures.length === 0) return null;
  const groups = groupFailures(failures);
  const scope = failures.length === 1 ? 'of the last failure' : `of the last ${failures.length} failures`;
  return (
    <PanelSection title="Errors" period={scope}>
      <ol class="failures" aria-label="Errors">
        {groups.map((group) => (
          <FailureLine key={`${group.name} ${group.message}`} group={group} serverNow={serverNow} query={query} />
        ))}
      </ol>
    </PanelSection>
  );
}

interface FailureLineProps extends Omit<FailureListProps, 'failures'> {
  readonly group: FailureGroup;
}

function FailureLine({ group, serverNow, query }: FailureLineProps): JSX.Element {
  const { name, message, failures, firstAt, lastAt } = group;
  const last = formatAgo(serverNow - lastAt);
  return (
    <li>
      <p class="failure-head">
        <strong class="failure-count">×{failures.length}</strong>
        <span class="failure-name">{name}</span>
        <span class="failure-time">
          {failures.length > 1 && `first ${formatAge(serverNow - firstAt)}, `}last {last}
        </span>
      </p>
      <p class="failure-message" title={message}>
        {message}
      </p>
      <details class="disclosure">
        <summary>{failures.length === 1 ? 'Event' : `${failures.length} events`}</summary>
        <ul class="failure-ids">
          {failures.map(({ id, at, attempt }) => (
            <li key={id}>
              <IdLink id={id} name="event" query={query} />
              <span>attempt {attempt}</span>
              <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)}>
                {formatAgo(serverNow - at)}
              </time>
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}
