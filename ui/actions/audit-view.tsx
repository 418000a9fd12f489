import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { AuditBody } from '../../server/dashboard/protocol.js';
import { counted, formatCount, UNKNOWN } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { IdLink } from '../shared/links.js';
import { MomentAndAge } from '../shared/times.js';
import { EmptyState, LoadedContent, ViewSection } from '../shared/view-section.js';
import { BoundedRows, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import { createViewLoader } from '../state/loader.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, type View, viewPath } from '../state/navigation.js';
import { useActions } from './actions.js';

const COLUMNS = ['When', 'Who', 'Action', 'Outcome', 'Target', 'Reason'] as const;
const SHOWN = 50;

type Entry = AuditBody['entries'][number];

/** Link to the audit in the menu of the page. Absent for a user who may not read it. */
export function AuditLink({ onFollow }: { onFollow: () => void }): JSX.Element | null {
  if (useActions()?.may('audit') !== true) return null;
  return (
    <a class="menu-item" href={viewPath('audit')} onClick={onFollow}>
      <Icon name="clock" /> Audit
    </a>
  );
}

export interface AuditViewProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Number of actions that the server sends. */
const MOST = 1_000;

/** View of who did what to what, when and why. */
export function AuditView({ monitor, navigation }: AuditViewProps): JSX.Element {
  const query = navigation.query.value;
  const actions = useActions();
  const client = actions?.may('audit') === true ? actions.client : null;
  const loader = useMemo(() => (client === null ? null : createViewLoader(client.audit)), [client]);
  useEffect(() => {
    const abort = new AbortController();
    void loader?.load('', abort.signal);
    return () => abort.abort();
  }, [loader]);
  const count = loader?.state.value?.body?.entries.length;
  return (
    <ViewSection
      view="audit"
      store={monitor.store}
      hasTimes
      aside={
        count !== undefined && (
          <span class="panel-period">
            {count === MOST && 'the newest '}
            {counted(count, 'action')}
          </span>
        )
      }
    >
      {loader === null ? (
        <EmptyState title="No access">
          <p>The audit needs an actions handler, and the right to read it.</p>
        </EmptyState>
      ) : (
        <LoadedContent
          monitor={monitor}
          data={loader.state.value}
          isEmpty={({ entries }) => entries.length === 0}
          emptyTitle="No action yet"
          hint="Actions of this page, the command line, and code that names its caller appear here."
        >
          {({ entries, now }) => (
            <ViewTable caption="Actions, the newest first" columns={COLUMNS} class="audit-table">
              <BoundedRows items={entries} limit={SHOWN} noun="actions" columns={COLUMNS.length}>
                {(entry) => <AuditRow key={entry.sequence} entry={entry} now={now} query={query} />}
              </BoundedRows>
            </ViewTable>
          )}
        </LoadedContent>
      )}
    </ViewSection>
  );
}

function AuditRow({ entry, now, query }: { entry: Entry; now: number; query: string }): JSX.Element {
  const { at, by, via, action, reason, outcome } = entry;
  return (
    <tr>
      <th scope="row">
        <MomentAndAge at={at} now={now} />
      </th>
      <ViewTableCell label="Who">
        <bdi>{by}</bdi> <span class="muted">via {via}</span>
      </ViewTableCell>
      <ViewTableCell label="Action">
        <strong>{action}</strong>
      </ViewTableCell>
      <ViewTableCell label="Outcome" isFailed={!!outcome?.failed}>
        <span class={outcome?.done && !outcome.failed ? 'tone-completed' : ''}>{outcomeText(outcome)}</span>
      </ViewTableCell>
      <ViewTableCell label="Target">
        <Target entry={entry} query={query} />
      </ViewTableCell>
      <ViewTableCell label="Reason">
        <bdi>{reason ?? UNKNOWN}</bdi>
      </ViewTableCell>
    </tr>
  );
}

/** Returns the outcome of an action: looks, and actions whose process ended before, have none. */
function outcomeText(outcome: Entry['outcome']): string {
  if (outcome === undefined) return UNKNOWN;
  const { done, failed, code = '' } = outcome;
  if (failed > 0)
    return done === 0 ? `failed ${code}`.trim() : `${formatCount(failed)} of ${formatCount(done + failed)} failed`;
  return done === 0 ? 'nothing to do' : 'done';
}

function Target({ entry, query }: { entry: Entry; query: string }): JSX.Element {
  const { action, target } = entry;
  const { id, ids = [], count, type, workflow, schedule, service, requestId, errorGroup, step } = target;
  const parts: readonly (readonly [kind: string, name: string | undefined, view?: View])[] = [
    ['event type', type, 'events'],
    ['workflow', workflow, 'workflows'],
    ['schedule', schedule, 'schedules'],
    ['request', requestId, 'requests'],
    ['service', service],
    ['step', step],
  ];
  const shown = id === undefined ? ids.slice(0, 3) : [id];
  const noun = workflow === undefined ? 'event' : 'run';
  return (
    <>
      {parts.map(
        ([kind, name, view]) =>
          name !== undefined && (
            <ViewTableNote key={kind}>
              {kind}{' '}
              {view === undefined ? (
                <bdi>{name}</bdi>
              ) : (
                <a href={viewPath(view, name) + query}>
                  <bdi>{name}</bdi>
                </a>
              )}
            </ViewTableNote>
          ),
      )}
      {errorGroup !== undefined && <ViewTableNote>one error</ViewTableNote>}
      {count !== undefined && (
        <ViewTableNote>{counted(count, action === 'replay' ? 'dead letter' : 'target')}</ViewTableNote>
      )}
      {shown.map((each) => (
        <ViewTableNote key={each}>
          <IdLink id={each} name={noun} query={query} />
        </ViewTableNote>
      ))}
    </>
  );
}
