import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { EventBody, EventOverview } from '../../../server/dashboard/protocol.js';
import { TypeActions } from '../../actions/subject-actions.js';
import { formatAge, formatAgo } from '../../format/duration.js';
import { formatCount, formatPercent } from '../../format/number.js';
import { CopyButton } from '../../shared/copy-button.js';
import { CountStats } from '../../shared/counts.js';
import { Icon, IconButton } from '../../shared/icon.js';
import { Name } from '../../shared/name.js';
import { PanelSection } from '../../shared/view-section.js';
import { type EventRow, failingRatio } from '../../state/event-row.js';
import type { Loaded } from '../../state/loader.js';
import type { Monitor } from '../../state/monitor.js';
import type { Navigation } from '../../state/navigation.js';
import { blockerText } from '../../views/explanation.js';
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
        <IconButton icon="close" label="Close panel" title="Close panel (Esc)" onClick={close} />
      </div>
      {row && (
        <PanelStatus
          row={row}
          body={detail?.body ?? null}
          serverNow={monitor.serverNow.value}
          hubNow={store.reading.value.hubNow}
        />
      )}
      {row && detail?.error && <PanelNotice detail={detail} />}
      {row && !detail && monitor.connection.value.kind === 'snapshot' && (
        <p class="panel-note muted">The snapshot has no details of this event type.</p>
      )}
      {row && <PanelBody row={row} detail={detail} monitor={monitor} navigation={navigation} />}
      {!row && store.hub.value && <p class="panel-note">No event type with this name is registered.</p>}
    </aside>
  );
}

interface PanelStatusProps {
  readonly row: EventRow;
  readonly body: EventBody | null;
  readonly serverNow: number;
  /** Time at which the counts were read, in epoch milliseconds. */
  readonly hubNow: number;
}

function PanelStatus({ row, body, serverNow, hubNow }: PanelStatusProps): JSX.Element {
  const event = row.event.value;
  const { status } = row;
  const backlog = backlogText(event, hubNow);
  return (
    <p class={`panel-status is-${status}`}>
      <StatusBadge status={status} failingRatio={failingRatio(row)} cause={row.cause} hasWord />
      <span>
        {statusSentence(event, serverNow)}
        {backlog !== null && <span class="panel-backlog">{backlog}</span>}
        {(body?.backlog?.bottlenecks ?? []).map(({ service, ...blocker }) => (
          <span key={`${service} ${blocker.kind}`} class="panel-backlog">
            {event.services && `${service}: `}
            {blockerText(blocker, serverNow)}
          </span>
        ))}
      </span>
    </p>
  );
}

interface PanelBodyProps extends Omit<EventPanelProps, 'type'> {
  readonly row: EventRow;
  readonly detail: Loaded<EventBody> | null;
}

function PanelBody({ row, detail, monitor, navigation }: PanelBodyProps): JSX.Element {
  const event = row.event.value;
  const query = navigation.query.value;
  const body = detail?.body ?? null;
  return (
    <>
      {event.description && <p class="panel-description">{event.description}</p>}
      <TypeActions kind="type" name={row.type} deadLetters={event.metrics.deadLetters} paused={event.paused} />
      <FailureList failures={body?.recentFailures ?? []} serverNow={monitor.serverNow.value} query={query} />
      <DeadLetters type={row.type} count={event.metrics.deadLetters} transport={monitor.store.hub.value?.transport} />
      <TypeChart detail={detail} monitor={monitor} navigation={navigation} />
      <Percentiles body={body} />
      <RecentEvents
        newest={body?.recentEvents ?? []}
        failed={body?.failedEvents ?? []}
        serverNow={monitor.serverNow.value}
        query={query}
      />
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
      <div class="panel-actions">
        <CopyButton label="Copy link" icon="link" text={() => location.href} />
        <CopyButton label="Copy JSON" text={() => asJson(row, detail)} />
      </div>
    </>
  );
}

function PanelNotice({ detail: { error, body } }: { detail: Loaded<EventBody> }): JSX.Element {
  return (
    <p class="panel-notice">
      <Icon name="triangle" />
      <span>
        {error?.message}
        {body && ' The data is from the last successful response.'}
      </span>
    </p>
  );
}

function asJson(row: EventRow, detail: Loaded<EventBody> | null): string {
  return JSON.stringify({ ...row.event.value, ...detail?.body }, null, 2);
}

/** Returns the state of an event type as a sentence, from the last 5 minutes. */
export function statusSentence({ metrics, recent, lastFailure }: EventOverview, serverNow: number): string {
  const { completed, failed, cancelled, received } = recent.last5Min;
  const failures = failed - cancelled;
  const ended = completed + failures;
  if (failures > 0) {
    const at = metrics.lastFailedAt ?? lastFailure?.at;
    const last = at === undefined ? '' : `, last ${formatAgo(serverNow - at)}`;
    return `${formatCount(failures)} of ${formatCount(ended)} failed in 5 min (${formatPercent(failures / ended)})${last}`;
  }
  if (metrics.received === 0) return 'No event was received since the start';
  const { pending, suspended, oldestPendingAt, lastReceivedAt } = metrics;
  const open = [
    ...(pending === 0 || oldestPendingAt === undefined
      ? []
      : [`${formatCount(pending)} pending, the oldest for ${formatAge(serverNow - oldestPendingAt)}`]),
    // Suspended ones are pending, and have no age.
    ...(suspended > 0 ? [`${formatCount(suspended)} suspended`] : []),
  ];
  const last = lastReceivedAt === undefined ? '' : `, the last one ${formatAgo(serverNow - lastReceivedAt)}`;
  const recently =
    received + completed === 0
      ? `No event in 5 min${last}`
      : `Nothing failed in 5 min, ${formatCount(completed)} completed`;
  // What waits while nothing ends comes first.
  return ended > 0 ? [recently, ...open].join(', ') : [...open, recently].join('. ');
}
