import type { JSX } from 'preact';
import type { FailureRecord } from '../../../server/dashboard/protocol.js';
import { formatAgo } from '../../format/duration.js';
import { replayTypeCode } from '../../format/hub-code.js';
import { formatCount } from '../../format/number.js';
import { ReplayCode } from '../../shared/copy-button.js';
import { IdLink } from '../../shared/links.js';
import { Ago } from '../../shared/times.js';
import { PanelSection } from '../../shared/view-section.js';

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
          <FailureLine key={group.key} group={group} serverNow={serverNow} query={query} />
        ))}
      </ol>
    </PanelSection>
  );
}

interface FailureLineProps extends Omit<FailureListProps, 'failures'> {
  readonly group: FailureGroup;
}

function FailureLine({ group, serverNow, query }: FailureLineProps): JSX.Element {
  const { name, message, failures, lastAt } = group;
  const [newest] = failures;
  const last = formatAgo(serverNow - lastAt);
  return (
    <li>
      <p class="failure-head">
        <strong class="failure-count">×{failures.length}</strong>
        <span class="failure-name">{name}</span>
        <span class="failure-time">last {last}</span>
      </p>
      <p class="failure-message" title={newest?.message}>
        {message}
      </p>
      <details class="disclosure">
        <summary>{failures.length === 1 ? 'Event' : `${failures.length} events`}</summary>
        <ul class="failure-ids">
          {failures.map(({ id, at, attempt }) => (
            <li key={id}>
              <IdLink id={id} name="event" query={query} />
              <span>attempt {attempt}</span>
              <Ago at={at} now={serverNow} />
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}

/** Failures with the same name and message, apart from digits. */
interface FailureGroup {
  /** Identity, which new failures do not change. */
  readonly key: string;
  readonly name: string;
  /** Masked message. */
  readonly message: string;
  /** Newest first. */
  readonly failures: readonly FailureRecord[];
  /** Epoch milliseconds. */
  readonly lastAt: number;
}

/** Matches ids and numbers, in which messages of one error differ. */
const VARIABLE = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|\d+/gi;

/** Returns a message with its ids and numbers masked. */
export function maskDigits(message: string): string {
  return message.replace(VARIABLE, '#');
}

/**
 * Groups failures by name and masked message, the largest group first.
 *
 * @param failures newest first
 */
export function groupFailures(failures: readonly FailureRecord[]): readonly FailureGroup[] {
  const groups = new Map<string, FailureRecord[]>();
  for (const failure of failures) {
    const key = JSON.stringify([failure.name, maskDigits(failure.message)]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [failure]);
    else group.push(failure);
  }
  return [...groups]
    .map(([key, members]) => {
      const times = members.map(({ at }) => at);
      const [newest] = members;
      return {
        key,
        name: newest?.name ?? '',
        message: maskDigits(newest?.message ?? ''),
        failures: members,
        lastAt: Math.max(...times),
      };
    })
    .sort((a, b) => b.failures.length - a.failures.length || b.lastAt - a.lastAt);
}

export interface DeadLettersProps {
  readonly type: string;
  /** Number of open dead letters. */
  readonly count: number;
  /** Name of the hub's transport; `undefined` before the first response. */
  readonly transport: string | undefined;
}

/** Section with the number of open dead letters and the code that replays them. Absent if there are none. */
export function DeadLetters({ type, count, transport }: DeadLettersProps): JSX.Element | null {
  if (count === 0) return null;
  const code = replayTypeCode(type, count, transport);
  return (
    <PanelSection title="Dead letters" period={`${formatCount(count)} open`}>
      <ReplayCode code={code} />
    </PanelSection>
  );
}
