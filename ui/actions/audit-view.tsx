import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditBody } from '../../server/dashboard/protocol.js';
import { formatTime, viewerTimeZone } from '../format/clock-time.js';
import { Icon } from '../shared/icon.js';
import { IdLink } from '../shared/links.js';
import { Ago } from '../shared/times.js';
import { EmptyState, Failure, TableSkeleton } from '../shared/view-section.js';
import { BoundedRows, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import { type Navigation, type View, viewPath } from '../state/navigation.js';
import { useActions } from './actions.js';

const COLUMNS = ['When', 'Who', 'Action', 'Target', 'Reason'] as const;
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

/** View of who did what to what, when and why: the last 1,000 actions. */
export function AuditView({ navigation }: { readonly navigation: Navigation }): JSX.Element {
  const query = navigation.query.value;
  const actions = useActions();
  const [audit, setAudit] = useState<AuditBody | null>(null);
  const [error, setError] = useState<string | null>(null);
  const client = actions?.may('audit') === true ? actions.client : null;
  useEffect(() => {
    if (client === null) return;
    let isCurrent = true;
    client.audit().then(
      (found) => isCurrent && setAudit(found),
      (cause: Error) => isCurrent && setError(cause.message),
    );
    return () => {
      isCurrent = false;
    };
  }, [client]);
  return (
    <section class="view" aria-labelledby="audit-title">
      <div class="view-head">
        <h2 id="audit-title" class="section-title" tabIndex={-1}>
          Audit <span class="panel-period">newest 1,000 · times in {viewerTimeZone()}</span>
        </h2>
      </div>
      {client === null ? (
        <EmptyState title="No access">
          <p>The audit needs an actions handler, and the right to read it.</p>
        </EmptyState>
      ) : error !== null ? (
        <Failure message={error} />
      ) : audit === null ? (
        <TableSkeleton />
      ) : audit.entries.length === 0 ? (
        <EmptyState title="No action yet">
          <p>Actions of this page, the command line, and code that names its caller appear here.</p>
        </EmptyState>
      ) : (
        <ViewTable caption="Actions, the newest first" columns={COLUMNS} class="audit-table">
          <BoundedRows items={audit.entries} limit={SHOWN} noun="actions" columns={COLUMNS.length}>
            {(entry, index) => [
              dayOf(entry.at) !== dayOf(audit.entries[index - 1]?.at ?? 0) && (
                <tr key="day" class="row-group">
                  <th scope="rowgroup" colSpan={COLUMNS.length}>
                    {dayOf(entry.at)}
                  </th>
                </tr>
              ),
              <AuditRow key={entry.sequence} entry={entry} now={audit.now} query={query} />,
            ]}
          </BoundedRows>
        </ViewTable>
      )}
    </section>
  );
}

function AuditRow({ entry, now, query }: { entry: Entry; now: number; query: string }): JSX.Element {
  const { at, by, via, action, reason } = entry;
  return (
    <tr>
      <th scope="row">
        {formatTime(at)} <Ago at={at} now={now} />
      </th>
      <ViewTableCell label="Who">
        <bdi>{by}</bdi> <span class="muted">via {via}</span>
      </ViewTableCell>
      <ViewTableCell label="Action">{action}</ViewTableCell>
      <ViewTableCell label="Target">
        <Target target={entry.target} query={query} />
      </ViewTableCell>
      <ViewTableCell label="Reason">{reason === undefined ? '—' : <bdi>{reason}</bdi>}</ViewTableCell>
    </tr>
  );
}

function Target({ target, query }: { target: Entry['target']; query: string }): JSX.Element {
  const { id, ids = [], count, type, workflow, schedule, service, requestId, step } = target;
  const places: readonly (readonly [View, string, string | undefined])[] = [
    ['events', '', type],
    ['workflows', 'workflow ', workflow],
    ['schedules', 'schedule ', schedule],
    ['requests', 'request ', requestId],
  ];
  const names = [service && `service ${service}`, step, count === undefined ? undefined : `${count} events`];
  const shown = id === undefined ? ids.slice(0, 3) : [id];
  return (
    <>
      {places.map(
        ([view, kind, name]) =>
          name !== undefined && (
            <ViewTableNote key={view}>
              {kind}
              <a href={viewPath(view, name) + query}>
                <bdi>{name}</bdi>
              </a>
            </ViewTableNote>
          ),
      )}
      {names.filter(Boolean).map((name) => (
        <ViewTableNote key={name}>
          <bdi>{name}</bdi>
        </ViewTableNote>
      ))}
      {shown.map((each) => (
        <ViewTableNote key={each}>
          <IdLink id={each} name="event" query={query} />
        </ViewTableNote>
      ))}
    </>
  );
}

/** Returns a day with its year: entries may be old. */
function dayOf(epochMs: number): string {
  return new Date(epochMs).toDateString();
}
