import type { JSX } from 'preact';
import type { Processes as Body } from '../api/decode-views.js';
import { viewerTimeZone } from '../format/clock-time.js';
import { formatAgo } from '../format/duration.js';
import { formatCount } from '../format/number.js';
import { EventLink } from '../shared/links.js';
import { LoadedView } from '../shared/view-section.js';
import { BoundedRows, Moment, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';

export interface ProcessesProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const COLUMNS = ['Process', 'Service', 'Running', 'Slots', 'Started', 'Handles'] as const;

/** Number of processes that are shown first. */
const SHOWN_PROCESSES = 20;

/** View of the running hubs, their handlers and what they handle. */
export function Processes({ monitor, navigation }: ProcessesProps): JSX.Element {
  return (
    <LoadedView
      view="processes"
      monitor={monitor}
      data={monitor.processes.value}
      aside={<span class="panel-period">a few seconds old · times in {viewerTimeZone()}</span>}
      isEmpty={({ processes }) => processes.length === 0}
      emptyTitle="No process runs"
      hint={
        <>
          A process that has called <code>hub.start</code> appears here.
        </>
      }
    >
      {({ processes, processCount, registrations, now }) => (
        <>
          {processCount > processes.length && (
            <p class="panel-note">
              The first {formatCount(processes.length)} of {formatCount(processCount)} processes.
            </p>
          )}
          <ViewTable caption="Running processes, by service" columns={COLUMNS} class="processes-table">
            <BoundedRows items={processes} limit={SHOWN_PROCESSES} noun="processes" columns={COLUMNS.length}>
              {(process) => (
                <ProcessRow
                  key={process.id}
                  process={process}
                  handles={registrations[process.handles]}
                  now={Math.max(now, monitor.serverNow.value)}
                  query={navigation.query.value}
                />
              )}
            </BoundedRows>
          </ViewTable>
        </>
      )}
    </LoadedView>
  );
}

interface ProcessRowProps {
  readonly process: Body['processes'][number];
  readonly handles: Body['registrations'][number] | undefined;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
}

function ProcessRow({ process, handles, now, query }: ProcessRowProps): JSX.Element {
  const { id, service, host, pid, version, startedAt, active, slots } = process;
  return (
    <tr>
      <th scope="row">
        <bdi class="view-table-name">{host}</bdi>
        <ViewTableNote>
          pid {pid} · hub {id} · version {version}
        </ViewTableNote>
      </th>
      <ViewTableCell label="Service">
        <bdi>{service}</bdi>
      </ViewTableCell>
      <ViewTableCell label="Running">{formatCount(active)}</ViewTableCell>
      <ViewTableCell label="Slots">
        <span class="slots">
          {formatCount(slots)}
          <meter min={0} max={slots} value={Math.min(active, slots)} aria-label={`${active} of ${slots} slots taken`} />
        </span>
      </ViewTableCell>
      <ViewTableCell label="Started">
        <Moment at={startedAt} />
        <ViewTableNote>{formatAgo(now - startedAt)}</ViewTableNote>
      </ViewTableCell>
      <ViewTableCell label="Handles">
        <Handled handles={handles} query={query} />
      </ViewTableCell>
    </tr>
  );
}

function Handled({ handles, query }: Pick<ProcessRowProps, 'handles' | 'query'>): JSX.Element {
  const { events = [], workflows = [] } = handles ?? {};
  if (events.length + workflows.length === 0) return <>nothing; it only emits or reads</>;
  const counts = [
    ...(events.length > 0 ? [`${formatCount(events.length)} event ${events.length === 1 ? 'type' : 'types'}`] : []),
    ...(workflows.length > 0
      ? [`${formatCount(workflows.length)} ${workflows.length === 1 ? 'workflow' : 'workflows'}`]
      : []),
  ];
  return (
    <details>
      <summary>{counts.join(', ')}</summary>
      <ul class="handled">
        {events.map((type) => (
          <li key={type}>
            <EventLink type={type} query={query} />
          </li>
        ))}
        {workflows.map((name) => (
          <li key={name}>
            workflow{' '}
            <a href={viewPath('workflows', name) + query}>
              <bdi>{name}</bdi>
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
