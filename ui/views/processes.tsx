import { Fragment, type JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LostProcess, Pause } from '../../server/dashboard/protocol.js';
import { PauseButton } from '../actions/subject-actions.js';
import type { Processes as Body, RunningHub as Hub } from '../api/decode-views.js';
import { HistoryChart } from '../charts/history-chart.js';
import { formatAge, formatAgo } from '../format/duration.js';
import { counted, formatCount, formatPercent, UNKNOWN } from '../format/number.js';
import { ShareBar } from '../shared/counts.js';
import { IdLink, TypeLink } from '../shared/links.js';
import { groupBy } from '../shared/lists.js';
import { Name } from '../shared/name.js';
import { MomentAndAge } from '../shared/times.js';
import { LoadedView } from '../shared/view-section.js';
import { TablePart, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import { subscribeTo } from '../state/event-row.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';

export interface ProcessesProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const COLUMNS = ['Process', 'Heap', 'Loop busy', 'Service', 'Release', 'Slots taken', 'Started', 'Handles'] as const;

/** Number of processes that are shown first. */
const SHOWN_PROCESSES = 20;
/** Number of event types that are shown first: those without a free slot, and what is above the processes. */
const SHOWN_TYPES = 5;

/** View of the running hubs, their handlers and what they handle. */
export function Processes({ monitor, navigation }: ProcessesProps): JSX.Element {
  const lost = monitor.store.lost.value;
  return (
    <LoadedView
      view="processes"
      monitor={monitor}
      data={monitor.processes.value}
      hasTimes
      isEmpty={({ processes }) => processes.length + lost.length === 0}
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
              The first {formatCount(processes.length)} of {formatCount(processCount)} hubs.
            </p>
          )}
          <LostProcesses lost={lost} now={now} />
          <TypeSlots monitor={monitor} query={navigation.query.value} />
          <RunningProcesses
            hubs={processes}
            registrations={registrations}
            now={now}
            query={navigation.query.value}
            pauses={monitor.store.health.value?.paused ?? []}
          />
          <Durations monitor={monitor} navigation={navigation} />
          <Releases monitor={monitor} />
        </>
      )}
    </LoadedView>
  );
}

const CHART_HEIGHT = 112;

/** Chart of how long events waited and ran. */
function Durations({ monitor, navigation }: ProcessesProps): JSX.Element {
  const { store } = monitor;
  return (
    <section class="card chart-card" aria-labelledby="durations-title">
      <HistoryChart
        histories={store.totals.value?.histories}
        now={store.reading.value.hubNow}
        monitor={monitor}
        navigation={navigation}
        heading="h3"
        id="durations-title"
        height={CHART_HEIGHT}
        mode="latency"
      />
    </section>
  );
}

interface PartProps {
  readonly monitor: Monitor;
  readonly query: string;
}

/** Processes that ended without a stop, the latest first. */
function LostProcesses({ lost, now }: { readonly lost: readonly LostProcess[]; readonly now: number }): JSX.Element {
  return (
    <TablePart
      title="Lost processes"
      note="1 h · ended without a shutdown"
      columns={['Process', 'Service', 'Release', 'Lost', 'Started']}
      class="pairs-table"
      items={lost}
      limit={SHOWN_PROCESSES}
      noun="processes"
    >
      {({ id, service, host, pid, release, startedAt, lostAt, active }) => (
        <tr key={id}>
          <th scope="row">
            <Name class="view-table-name">{host}</Name>
            <ViewTableNote>
              pid {pid} · hub {id}
            </ViewTableNote>
          </th>
          <ViewTableCell label="Service">{service}</ViewTableCell>
          <ViewTableCell label="Release">
            <Name>{release ?? UNKNOWN}</Name>
          </ViewTableCell>
          <ViewTableCell label="Lost" isFailed>
            {formatAgo(now - lostAt)}
            <ViewTableNote>
              {active === 0 ? 'ran no event' : `${counted(active, 'running event')} released`}
            </ViewTableNote>
          </ViewTableCell>
          <ViewTableCell label="Started">
            <MomentAndAge at={startedAt} now={now} />
          </ViewTableCell>
        </tr>
      )}
    </TablePart>
  );
}

/** Event types with slots of their own: how many are taken now, and what waits for them. */
function TypeSlots({ monitor, query }: PartProps): JSX.Element {
  const { store } = monitor;
  subscribeTo(store.reading);
  const types = [...store.rows.value.values()].flatMap((row) => (row.slots === null ? [] : { row, slots: row.slots }));
  types.sort((a, b) => Number(b.slots.isFull) - Number(a.slots.isFull));
  return (
    <TablePart
      title="Slots of event types"
      note="now, over all processes"
      columns={['Event type', 'Slots taken', 'Pending', 'Oldest']}
      items={types}
      limit={SHOWN_TYPES}
      noun="event types"
    >
      {({ row, slots: { taken, all, isFull } }) => {
        const { oldestPendingAt } = row.event.value.metrics;
        return (
          <tr key={row.type}>
            <th scope="row">
              <TypeLink class="view-table-name" type={row.type} query={query} />{' '}
              {isFull && <span class="tag is-full">full</span>}
            </th>
            <ViewTableCell label="Slots taken">
              <Slots taken={taken} all={all} />
            </ViewTableCell>
            <ViewTableCell label="Pending">{formatCount(row.count('pending'))}</ViewTableCell>
            <ViewTableCell label="Oldest">
              {oldestPendingAt === undefined ? UNKNOWN : formatAge(monitor.serverNow.value - oldestPendingAt)}
            </ViewTableCell>
          </tr>
        );
      }}
    </TablePart>
  );
}

function Slots({ taken, all }: { taken: number; all: number }): JSX.Element {
  return (
    <span class={`slots${taken < all ? '' : ' is-full'}`}>
      <ShareBar share={Math.min(taken / all, 1)} />
      {formatCount(taken)} of {formatCount(all)}
    </span>
  );
}

/** Releases of the last 7 days, the latest first. */
function Releases({ monitor }: Pick<PartProps, 'monitor'>): JSX.Element {
  const now = monitor.serverNow.value;
  return (
    <TablePart
      title="Releases"
      note="7 d"
      columns={['Release', 'Service', 'Started', 'Ended']}
      class="pairs-table"
      items={monitor.store.releases.value.toReversed()}
      limit={10}
      noun="releases"
    >
      {({ service, release, startedAt, endedAt }) => (
        <tr key={`${service} ${release} ${startedAt}`}>
          <th scope="row">
            <Name class="view-table-name">{release}</Name>
          </th>
          <ViewTableCell label="Service">{service}</ViewTableCell>
          <ViewTableCell label="Started">
            <MomentAndAge at={startedAt} now={now} />
          </ViewTableCell>
          <ViewTableCell label="Ended">
            {endedAt === undefined ? 'still runs' : <MomentAndAge at={endedAt} now={now} />}
          </ViewTableCell>
        </tr>
      )}
    </TablePart>
  );
}

interface RunningProcessesProps extends Pick<Body, 'registrations'> {
  readonly hubs: readonly Hub[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
  readonly pauses: readonly Pause[];
}

/** Returns the id of the process of a hub. One of an earlier version reports none. */
function processOf(hub: Hub | undefined): string | undefined {
  return hub?.process ?? hub?.id;
}

/** Running processes, each with its hubs. */
function RunningProcesses({ hubs, ...props }: RunningProcessesProps): JSX.Element {
  const processes = [...groupBy(hubs, processOf).values()];
  return (
    <TablePart
      title="Running processes"
      note={`${counted(hubs.length, 'hub')} in ${counted(processes.length, 'process', 'processes')}`}
      columns={COLUMNS}
      class="processes-table"
      items={processes}
      limit={SHOWN_PROCESSES}
      noun="processes"
    >
      {(members) => (
        <Fragment key={processOf(members[0])}>
          {members.map((hub, index) => (
            <tr key={hub.id}>
              {index === 0 && <ProcessCells process={hub} rows={members.length} />}
              <HubCells hub={hub} {...props} />
            </tr>
          ))}
        </Fragment>
      )}
    </TablePart>
  );
}

/** Cells that the hubs of a process share. @param rows number of the hubs */
function ProcessCells({ process, rows }: { readonly process: Hub; readonly rows: number }): JSX.Element {
  const { host, pid, version, heapBytes, loopBusy = null } = process;
  return (
    <>
      <th scope="row" rowSpan={rows}>
        <Name class="view-table-name">{host}</Name>
        <ViewTableNote>
          pid {pid} · Hubline {version}
        </ViewTableNote>
      </th>
      <ViewTableCell label="Heap" rows={rows}>
        {heapBytes === undefined ? UNKNOWN : `${formatCount(Math.round(heapBytes / 1_048_576))} MiB`}
      </ViewTableCell>
      <ViewTableCell label="Loop busy" rows={rows} isFailed={(loopBusy ?? 0) > 0.9}>
        {formatPercent(loopBusy)}
      </ViewTableCell>
    </>
  );
}

interface HubCellsProps extends Omit<RunningProcessesProps, 'hubs'> {
  readonly hub: Hub;
}

function HubCells({ hub, registrations, now, query, pauses }: HubCellsProps): JSX.Element {
  const { id, service, release, startedAt, active, slots, isolated, handles } = hub;
  return (
    <>
      <th scope="row">
        <Name class="view-table-name">{service}</Name>
        <PauseButton
          target={{ kind: 'service', name: service }}
          paused={pauses.find(({ target }) => 'service' in target && target.service === service)}
        />
        <ViewTableNote>hub {id}</ViewTableNote>
      </th>
      <ViewTableCell label="Release">
        <Name>{release ?? UNKNOWN}</Name>
      </ViewTableCell>
      <ViewTableCell label="Slots taken">
        <Slots taken={active} all={slots} />
        {isolated !== undefined && (
          <ViewTableNote>
            one alone: <IdLink id={isolated.id} name="event" query={query} />
          </ViewTableNote>
        )}
      </ViewTableCell>
      <ViewTableCell label="Started">
        <MomentAndAge at={startedAt} now={now} />
      </ViewTableCell>
      <ViewTableCell label="Handles">
        <Handled handles={registrations[handles]} query={query} />
      </ViewTableCell>
    </>
  );
}

interface HandledProps extends Pick<RunningProcessesProps, 'query'> {
  readonly handles: Body['registrations'][number] | undefined;
}

function Handled({ handles, query }: HandledProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { events = [], workflows = [] } = handles ?? {};
  if (events.length + workflows.length === 0) return <>nothing; it only emits or reads</>;
  const counts = [
    events.length > 0 && counted(events.length, 'event type'),
    workflows.length > 0 && counted(workflows.length, 'workflow'),
  ];
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{counts.filter(Boolean).join(', ')}</summary>
      {/* Thousands of closed names would cost each poll more than the rest of the view. */}
      {isOpen && (
        <ul class="handled">
          {events.map((type) => (
            <li key={type}>
              <TypeLink type={type} query={query} />
            </li>
          ))}
          {workflows.map((name) => (
            <li key={name}>
              workflow <TypeLink kind="workflow" type={name} query={query} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
