import type { JSX } from 'preact';
import type { FailureRecord } from '../../../server/dashboard/protocol.js';
import { ShortId } from '../../controls/short-id.js';
import { formatDateTime } from '../../format/clock-time.js';
import { formatAge, formatAgo } from '../../format/duration.js';
import { type FailureGroup, groupFailures } from './failure-groups.js';
import { PanelSection } from './panel-section.js';

export interface FailureListProps {
  readonly failures: readonly FailureRecord[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Section with the errors of the last failures, grouped. Absent if there are none. */
export function FailureList({ failures, serverNow }: FailureListProps): JSX.Element | null {
  if (failures.length === 0) return null;
  const groups = groupFailures(failures);
  const scope = failures.length === 1 ? 'of the last failure' : `of the last ${failures.length} failures`;
  return (
    <PanelSection title="Errors" period={scope}>
      <ol class="failures">
        {groups.map((group) => (
          <FailureLine key={`${group.name} ${group.message}`} group={group} serverNow={serverNow} />
        ))}
      </ol>
    </PanelSection>
  );
}

function FailureLine({ group, serverNow }: { group: FailureGroup; serverNow: number }): JSX.Element {
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
              <ShortId id={id} name="event" />
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
