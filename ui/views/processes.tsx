import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LostProcess, PauseSummary } from '../../server/dashboard/protocol.js';
import { PauseButton } from '../actions/subject-actions.js';
import type { Processes as Body } from '../api/decode-views.js';
import { HistoryChart } from '../charts/history-chart.js';
import { viewerTimeZone } from '../format/clock-time.js';
import { formatAge, formatAgo } from '../format/duration.js';
import { counted, formatCount, formatPercent, UNKNOWN } from '../format/number.js';
import { ShareBar } from '../shared/counts.js';
import { IdLink, TypeLink } from '../shared/links.js';
import { Name } from '../shared/name.js';
import { MomentAndAge } from '../shared/times.js';
import { LoadedView } from '../shared/view-section.js';
import { BoundedRows, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import { subscribeTo } from '../state/event-row.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';

export interface ProcessesProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const COLUMNS = ['Service', 'Release', 'Slots taken', 'Heap', 'Loop busy', 'Started', 'Handles'] as const;

/** Number of processes that are shown first. */
const SHOWN_PROCESSES = 20;

/** View of the running hubs, their handlers and what they handle. */
export function Processes({ monitor, navigation }: ProcessesProps): JSX.Element {
  const lost = monitor.store.lost.value;
  return (
    <LoadedView
      view="processes"
      monitor={monitor}
      data={monitor.processes.value}
      aside={<span class="panel-period">times in {viewerTimeZone()}</span>}
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
              The first {formatCount(processes.length)} of {formatCount(processCount)} processes.
            </p>
          )}
          {lost.length > 0 && <LostProcesses lost={lost} now={monitor.serverNow.value} />}
          <ViewTable caption="Running processes, by service" columns={COLUMNS} class="processes-table">
            <BoundedRows items={processes} limit={SHOWN_PROCESSES} noun="processes" columns={COLUMNS.length}>
              {(process) => (
                <ProcessRow
                  key={process.id}
                  process={process}
                  handles={registrations[process.handles]}
                  now={Math.max(now, monitor.serverNow.value)}
                  query={navigation.query.value}
                  paused={pauseOf(monitor, process.service)}
                />
              )}
            </BoundedRows>
          </ViewTable>
          <Durations monitor={monitor} navigation={navigation} />
          <TypeSlots monitor={monitor} query={navigation.query.value} />
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
    <>
      <h3 class="view-part">
        Lost processes <span class="panel-period">1 h · ended without a shutdown</span>
      </h3>
      <ViewTable
        caption="Lost processes, the latest first"
        columns={['Service', 'Release', 'Lost', 'Started']}
        class="lost-table"
      >
        <BoundedRows items={lost} limit={SHOWN_PROCESSES} noun="processes" columns={4}>
          {({ id, service, host, pid, release, startedAt, lostAt, active }) => (
            <tr key={id}>
              <th scope="row">
                <Name class="view-table-name">{service}</Name>
                <ViewTableNote>
                  {host} · pid {pid} · hub {id}
                </ViewTableNote>
              </th>
              <ViewTableCell label="Release">{release === undefined ? UNKNOWN : <Name>{release}</Name>}</ViewTableCell>
              <ViewTableCell label="Lost" isFailed>
                {formatAgo(now - lostAt)}
                <ViewTableNote>{releasedText(active)}</ViewTableNote>
              </ViewTableCell>
              <ViewTableCell label="Started">
                <MomentAndAge at={startedAt} now={now} />
              </ViewTableCell>
            </tr>
          )}
        </BoundedRows>
      </ViewTable>
    </>
  );
}

function releasedText(active: number): string {
  if (active === 0) return 'ran no event';
  return `${counted(active, 'running event')} released`;
}

/** Event types with slots of their own: how many are taken now, and what waits for them. */
function TypeSlots({ monitor, query }: PartProps): JSX.Element | null {
  const { store } = monitor;
  subscribeTo(store.reading);
  const types = [...store.rows.value.values()].flatMap((row) => (row.slots === null ? [] : { row, slots: row.slots }));
  if (types.length === 0) return null;
  types.sort((a, b) => Number(b.slots.isFull) - Number(a.slots.isFull));
  return (
    <>
      <h3 class="view-part">
        Slots of event types <span class="panel-period">now, over all processes</span>
      </h3>
      <ViewTable
        caption="Slots of event types"
        columns={['Event type', 'Slots taken', 'Pending', 'Oldest']}
        class="slots-table"
      >
        <BoundedRows items={types} limit={SHOWN_PROCESSES} noun="event types" columns={4}>
          {({ row, slots: { taken, all, isFull } }) => {
            const { oldestPendingAt } = row.event.value.metrics;
            return (
              <tr key={row.type}>
                <th scope="row">
                  <TypeLink class="view-table-name" type={row.type} query={query} />
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
        </BoundedRows>
      </ViewTable>
    </>
  );
}

function Slots({ taken, all }: { taken: number; all: number }): JSX.Element {
  return (
    <span class="slots">
      {formatCount(taken)} of {formatCount(all)}
      <ShareBar share={Math.min(taken / all, 1)} />
    </span>
  );
}

/** Releases of the last 7 days, the latest first. */
function Releases({ monitor }: Pick<PartProps, 'monitor'>): JSX.Element | null {
  const releases = monitor.store.releases.value;
  const now = monitor.serverNow.value;
  if (releases.length === 0) return null;
  return (
    <>
      <h3 class="view-part">
        Releases <span class="panel-period">7 d</span>
      </h3>
      <ViewTable
        caption="Releases, the latest first"
        columns={['Release', 'Service', 'Started', 'Ended']}
        class="releases-table"
      >
        <BoundedRows items={releases.toReversed()} limit={10} noun="releases" columns={4}>
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
        </BoundedRows>
      </ViewTable>
    </>
  );
}

interface ProcessRowProps {
  readonly process: Body['processes'][number];
  readonly handles: Body['registrations'][number] | undefined;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
  /** Pause of its service. */
  readonly paused: PauseSummary | undefined;
}

function pauseOf({ store }: Monitor, service: string): PauseSummary | undefined {
  return store.health.value?.paused?.find(({ target }) => 'service' in target && target.service === service);
}

function ProcessRow({ process, handles, now, query, paused }: ProcessRowProps): JSX.Element {
  const { id, service, host, pid, version, release, startedAt, active, slots } = process;
  return (
    <tr>
      <th scope="row">
        <Name class="view-table-name">{service}</Name>
        <ViewTableNote>
          {host} · pid {pid} · hub {id}
        </ViewTableNote>
      </th>
      <ViewTableCell label="Release">
        {release === undefined ? UNKNOWN : <Name>{release}</Name>}
        <ViewTableNote>Hubline {version}</ViewTableNote>
      </ViewTableCell>
      <ViewTableCell label="Slots taken">
        <Slots taken={active} all={slots} />
        {process.isolated !== undefined && (
          <ViewTableNote>
            one alone: <IdLink id={process.isolated.id} name="event" query={query} />
          </ViewTableNote>
        )}
      </ViewTableCell>
      <ViewTableCell label="Heap">
        {process.heapBytes === undefined ? UNKNOWN : `${formatCount(Math.round(process.heapBytes / 1_048_576))} MiB`}
      </ViewTableCell>
      <ViewTableCell label="Loop busy" isFailed={(process.loopBusy ?? 0) > 0.9}>
        {formatPercent(process.loopBusy ?? null)}
      </ViewTableCell>
      <ViewTableCell label="Started">
        <MomentAndAge at={startedAt} now={now} />
      </ViewTableCell>
      <ViewTableCell label="Handles">
        <PauseButton target={{ kind: 'service', name: service }} paused={paused} />
        <Handled handles={handles} query={query} />
      </ViewTableCell>
    </tr>
  );
}

function Handled({ handles, query }: Pick<ProcessRowProps, 'handles' | 'query'>): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { events = [], workflows = [] } = handles ?? {};
  if (events.length + workflows.length === 0) return <>nothing; it only emits or reads</>;
  const counts = [
    ...(events.length > 0 ? [counted(events.length, 'event type')] : []),
    ...(workflows.length > 0 ? [counted(workflows.length, 'workflow')] : []),
  ];
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{counts.join(', ')}</summary>
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
