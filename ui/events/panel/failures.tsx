import type { JSX } from 'preact';
import type { ErrorGroup, ReleaseIntrospection } from '../../../server/dashboard/protocol.js';
import { useActions } from '../../actions/actions.js';
import { replayTypeCode } from '../../format/hub-code.js';
import { formatCount } from '../../format/number.js';
import { ReplayCode } from '../../shared/copy-button.js';
import { ErrorFacts } from '../../shared/error-facts.js';
import { PanelSection } from '../../shared/view-section.js';
import { viewPath } from '../../state/navigation.js';
import { byAttention, GroupTags, NewestFailures } from '../../views/errors.js';

export interface FailureListProps {
  /** Errors of the type as groups. */
  readonly groups: readonly ErrorGroup[];
  readonly release: ReleaseIntrospection | undefined;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Number of groups that are shown: the view of errors has all. */
const SHOWN = 5;

/** Section with the errors of a type, grouped. Absent if there are none. */
export function FailureList({ groups, release, serverNow, query }: FailureListProps): JSX.Element | null {
  const failed = byAttention(groups, release, serverNow).filter(({ failures }) => failures > 0);
  if (failed.length === 0) return null;
  return (
    <PanelSection title="Errors" period="all failures">
      <ol class="failures" aria-label="Errors">
        {failed.slice(0, SHOWN).map((group) => (
          <li key={group.id}>
            <ErrorFacts group={group} count={group.failures} now={serverNow}>
              <GroupTags group={group} release={release} now={serverNow} />
            </ErrorFacts>
            {group.newest.length > 0 && (
              <details class="disclosure">
                <summary>Newest failures</summary>
                <NewestFailures newest={group.newest} name="event" now={serverNow} query={query} />
              </details>
            )}
          </li>
        ))}
      </ol>
      <a class="button panel-note" href={viewPath('errors') + query}>
        All errors
      </a>
    </PanelSection>
  );
}

export interface DeadLettersProps {
  readonly type: string;
  /** Number of open dead letters. */
  readonly count: number;
  /** Name of the hub's transport; `undefined` before the first response. */
  readonly transport: string | undefined;
}

/** Section with the number of open dead letters and the code that replays them. Absent if there are none, or a button does it. */
export function DeadLetters({ type, count, transport }: DeadLettersProps): JSX.Element | null {
  const mayReplay = useActions()?.may('replay') === true;
  if (count === 0 || mayReplay) return null;
  const code = replayTypeCode(type, count, transport);
  return (
    <PanelSection title="Dead letters" period={`${formatCount(count)} open`}>
      <ReplayCode code={code} />
    </PanelSection>
  );
}
