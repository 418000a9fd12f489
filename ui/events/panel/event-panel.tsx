import { Fragment, type JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Blocker, EventOverview, Problem } from '../../../server/dashboard/protocol.js';
import { TypeActions } from '../../actions/subject-actions.js';
import type { EventDetail } from '../../api/decode-event.js';
import { latestRelease, releaseMarks } from '../../charts/release-marks.js';
import { formatAge, formatAgo, formatPercentile } from '../../format/duration.js';
import { formatCount } from '../../format/number.js';
import { CountStats } from '../../shared/counts.js';
import { Fact } from '../../shared/fact.js';
import { Icon, IconButton } from '../../shared/icon.js';
import { Name } from '../../shared/name.js';
import { LoadFailure, PanelSection } from '../../shared/view-section.js';
import { type EventRow, failingRatio } from '../../state/event-row.js';
import type { Loaded } from '../../state/loader.js';
import type { Monitor } from '../../state/monitor.js';
import type { Navigation } from '../../state/navigation.js';
import { failureText, type StartedRelease } from '../../state/problems.js';
import { BlockerFacts, HolderActions } from '../../views/explanation.js';
import { backlogText } from '../backlog.js';
import { StatusBadge } from '../event-columns.js';
import { usePanelFocus } from '../event-focus.js';
import { EventSettings, KindTag, Triggers } from './event-settings.js';
import { Percentiles, ServiceTable, TypeChart } from './event-statistics.js';
import { DeadLetters, FailureList } from './failures.js';
import { RecentEvents } from './recent-events.js';

export interface EventPanelProps {
  readonly type: string;
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Panel with the details of one event type: beside the table, or in its place if there is little width. */
export function EventPanel({ type, monitor, navigation }: EventPanelProps): JSX.Element {
  const panel = useRef<HTMLElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  usePanelFocus(panel, title, type);
  const { store } = monitor;
  const row = store.rows.value.get(type);
  const detail = monitor.detail.value?.key === type ? monitor.detail.value : null;
  const close = (): void => navigation.go({ name: null });
  return (
    <aside ref={panel} class="panel" aria-label={type}>
      <div class="panel-head">
        <button type="button" class="back panel-back" onClick={close}>
          <Icon name="back" /> Events
        </button>
        <h2 class="panel-title" ref={title} tabIndex={-1} title={type}>
          <Name>{type}</Name>
        </h2>
        <IconButton icon="close" label="Close panel" onClick={close} />
      </div>
      {row && <PanelStatus row={row} body={detail?.body ?? null} monitor={monitor} query={navigation.query.value} />}
      {row && detail && <LoadFailure {...detail} />}
      {row && !detail && monitor.connection.value.kind === 'snapshot' && (
        <p class="panel-note muted">The snapshot has no details of this event type.</p>
      )}
      {row && <PanelBody key={type} row={row} detail={detail} monitor={monitor} navigation={navigation} />}
      {!row && store.hub.value && <p class="panel-note">No such event type.</p>}
    </aside>
  );
}

interface PanelStatusProps {
  readonly row: EventRow;
  readonly body: EventDetail | null;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

function PanelStatus({ row, body, monitor, query }: PanelStatusProps): JSX.Element {
  const { health, releases, reading } = monitor.store;
  const event = row.event.value;
  const { status } = row;
  const serverNow = monitor.serverNow.value;
  const problems = health.value?.problems.filter(({ eventType }) => eventType === row.type);
  const backlog = backlogText(event, reading.value.hubNow);
  const usual = body?.durationMs.lastHour.p50 ?? null;
  return (
    <div class={`panel-status is-${status}`}>
      <StatusBadge status={status} failingRatio={failingRatio(row)} cause={row.cause} hasWord />
      <p>{statusSentence(event, serverNow, problems, releaseMarks(releases.value))}</p>
      <dl class="facts">
        {body?.backlog?.bottlenecks.map(({ service, ...blocker }) => (
          <Fragment key={`${service} ${blocker.kind}`}>
            <Fact label="Why">
              {event.services && `${service}: `}
              <BlockerFacts blocker={blocker} now={serverNow} query={query} />
              {blocker.kind === 'concurrency' && usual !== null && ` (median ${formatPercentile(usual)})`}
            </Fact>
            {REMEDY[blocker.kind] && (
              <Fact label="To do">
                {REMEDY[blocker.kind]}
                <HolderActions type={event.type} blocker={blocker} />
              </Fact>
            )}
          </Fragment>
        ))}
        {backlog !== null && <Fact label="Backlog">{backlog}</Fact>}
      </dl>
    </div>
  );
}

/** Advice for each reason that holds events. */
const REMEDY: Readonly<Partial<Record<Blocker['kind'], string>>> = {
  concurrency: 'See what holds it, cancel it if it hangs, or raise the concurrency.',
  'process-slots': 'Start more processes, or raise their concurrency.',
  'no-process': 'Start a process of the service.',
  paused: 'Resume it when the reason is gone.',
};

interface PanelBodyProps extends Omit<EventPanelProps, 'type'> {
  readonly row: EventRow;
  readonly detail: Loaded<EventDetail> | null;
}

function PanelBody({ row, detail, monitor, navigation }: PanelBodyProps): JSX.Element {
  const event = row.event.value;
  const query = navigation.query.value;
  const body = detail?.body ?? null;
  // What runs and what waits says most about it.
  const [isStuck] = useState(row.cause === 'oldest-pending' || row.cause === 'backlog');
  const recent = (
    <RecentEvents
      newest={body?.recentEvents ?? []}
      failed={body?.failedEvents ?? []}
      serverNow={monitor.serverNow.value}
      query={query}
    />
  );
  return (
    <>
      {event.description && <p class="panel-description">{event.description}</p>}
      <TypeActions
        kind="type"
        name={row.type}
        deadLetters={event.metrics.deadLetters}
        paused={event.paused}
        groups={body?.errorGroups}
        now={Math.max(monitor.store.reading.value.hubNow, event.metrics.lastFailedAt ?? 0)}
      />
      <FailureList
        groups={body?.errorGroups ?? []}
        release={latestRelease(monitor.store.releases.value)}
        serverNow={monitor.serverNow.value}
        query={query}
      />
      <DeadLetters type={row.type} count={event.metrics.deadLetters} transport={monitor.store.hub.value?.transport} />
      {isStuck && recent}
      <TypeChart detail={detail} monitor={monitor} navigation={navigation} />
      <Percentiles body={body} />
      {!isStuck && recent}
      <PanelSection title="Counts" period="since start">
        <dl class="stats panel-stats">
          <CountStats counts={{ ...event.metrics, processes: event.processes }} />
        </dl>
      </PanelSection>
      {event.services && <ServiceTable services={event.services} />}
      <Triggers event={event} store={monitor.store} query={query} />
      <EventSettings event={event} body={body} kind={<KindTag event={event} query={query} />} />
      {body?.schema && (
        <PanelSection title="Payload schema">
          <pre class="code panel-code">{JSON.stringify(body.schema, null, 2)}</pre>
        </PanelSection>
      )}
    </>
  );
}

/** Returns the state of an event type as a sentence, from the last 5 minutes. @param problems those of the type */
export function statusSentence(
  { metrics, recent, lastFailure }: EventOverview,
  serverNow: number,
  problems: readonly Problem[] = [],
  releases?: readonly StartedRelease[],
): string {
  const { completed, failed, cancelled, received } = recent.last5Min;
  const failures = failed - cancelled;
  const ended = completed + failures;
  if (failures > 0) {
    // Failures whose dead letters were all replayed are no problem.
    const lastAt = metrics.lastFailedAt ?? lastFailure?.at;
    const last = lastAt === undefined ? {} : { lastAt };
    const failing = problems.find(({ kind }) => kind === 'failing');
    const problem = failing ?? { kind: 'failing', severity: 'warning', failed: failures, ended, ...last };
    return failureText(problem, serverNow, releases);
  }
  if (metrics.received === 0) return 'No event was received since the start';
  const { pending, active, suspended, oldestPendingAt, lastReceivedAt } = metrics;
  const waiting = pending - active;
  // The oldest one may run. Suspended ones have no age.
  const waits = problems.find(({ kind }) => kind === 'oldest-pending' || kind === 'backlog');
  const since = waits?.since ?? (active > 0 ? undefined : oldestPendingAt);
  const open = [
    waiting > 0 && `${formatCount(waiting)} waiting`,
    suspended > 0 && `${suspended === waiting ? 'all' : formatCount(suspended)} suspended`,
    since !== undefined && `the oldest for ${formatAge(serverNow - since)}`,
    active > 0 && `${formatCount(active)} running`,
  ].filter(Boolean);
  const last = lastReceivedAt === undefined ? '' : `, last ${formatAgo(serverNow - lastReceivedAt)}`;
  const recently =
    received + completed === 0
      ? `No event in 5 min${last}`
      : `Nothing failed in 5 min, ${formatCount(completed)} completed`;
  // While nothing ends, what waits is all.
  return ended + open.length === 0 ? recently : ended > 0 ? [recently, ...open].join(', ') : open.join(', ');
}
