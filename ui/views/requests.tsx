import type { ComponentChildren, JSX } from 'preact';
import type { EventDetails } from '../../server/dashboard/protocol.js';
import type { RequestTrace } from '../api/decode-event.js';
import { formatDateTime } from '../format/clock-time.js';
import { formatAgo, formatDuration } from '../format/duration.js';
import { replayCode } from '../format/hub-code.js';
import { formatCount } from '../format/number.js';
import { CodeToCopy } from '../shared/copy-button.js';
import { Icon } from '../shared/icon.js';
import { EventLink, IdLink } from '../shared/links.js';
import { EmptyState, TableSkeleton } from '../shared/view-section.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
import { spanOf, traceRows } from './trace-rows.js';
import { TraceTable } from './trace-table.js';

export interface RequestViewProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of one request: everything that it led to, on a time axis. The id of the route is that of the request or of an event. */
export function RequestView({ monitor, navigation }: RequestViewProps): JSX.Element {
  const id = navigation.openRequest.value ?? '';
  const open = monitor.request.value?.key === id ? monitor.request.value : null;
  const trace = open?.body ?? null;
  const query = navigation.query.value;
  return (
    <section class="view" aria-labelledby="requests-title">
      <div class="view-head request-head">
        <button type="button" class="back" onClick={() => navigation.go({ view: 'events', name: null })}>
          <Icon name="back" /> Events
        </button>
        <h2 id="requests-title" class="section-title" tabIndex={-1}>
          Request <bdi class="request-id">{trace?.requestId ?? id}</bdi>
        </h2>
      </div>
      {open !== null && open.error !== null && trace !== null && (
        <p class="panel-notice">
          <Icon name="triangle" /> {open.error.message} The data is from the last successful response.
        </p>
      )}
      {trace !== null ? (
        <Trace
          trace={trace}
          id={id}
          transport={monitor.store.hub.value?.transport}
          now={monitor.serverNow.value}
          query={query}
        />
      ) : open?.error ? (
        <EmptyState title={open.error.notFound === undefined ? 'No response' : 'Not found'}>
          <p>{open.error.notFound ?? open.error.message}</p>
          {open.error.notFound !== undefined && (
            <p>Of each type, the newest 50 completed and 50 failed events are retained.</p>
          )}
        </EmptyState>
      ) : monitor.connection.value.kind === 'snapshot' ? (
        <EmptyState title="Not in the snapshot">
          <p>A snapshot has no single requests.</p>
        </EmptyState>
      ) : (
        <TableSkeleton />
      )}
    </section>
  );
}

interface TraceProps {
  readonly trace: RequestTrace;
  /** Id of the route. */
  readonly id: string;
  /** Name of the hub's transport; `undefined` before the first response. */
  readonly transport: string | undefined;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  readonly query: string;
}

function Trace({ trace, id, transport, now, query }: TraceProps): JSX.Element {
  const { events, isTruncated, missingCauses } = trace;
  // Times of the body and of the page's clock may differ by a second.
  const at = Math.max(now, trace.now);
  const rows = traceRows(events, at);
  const span = spanOf(rows);
  const selected = events.find((event) => event.id === id);
  return (
    <>
      <p class="request-summary">{summaryOf(trace, span.to - span.from)}</p>
      {isTruncated && <p class="panel-note">More than 1,000 events are retained. The later ones are left out.</p>}
      {missingCauses > 0 && (
        <p class="panel-note">
          {formatCount(missingCauses)} {missingCauses === 1 ? 'event' : 'events'} of the request that led to others{' '}
          {missingCauses === 1 ? 'is' : 'are'} no longer retained: of each type the newest 50 completed and 50 failed
          events are.
        </p>
      )}
      {selected !== undefined && <EventFacts event={selected} transport={transport} now={at} query={query} />}
      <TraceTable rows={rows} selected={id} query={query} />
    </>
  );
}

function summaryOf({ events }: RequestTrace, ms: number): string {
  const failed = events.filter(({ status }) => status === 'failed').length;
  const pending = events.filter(({ endedAt }) => endedAt === undefined).length;
  return [
    `${formatCount(events.length)} ${events.length === 1 ? 'event or run' : 'events and runs'}`,
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(pending > 0 ? [`${formatCount(pending)} pending`] : []),
    `${formatDuration(ms)} in total`,
  ].join(' · ');
}

export interface EventFactsProps {
  readonly event: EventDetails;
  /** Name of the hub's transport; `undefined` before the first response. */
  readonly transport: string | undefined;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Facts about the selected event or run, with the code that replays it if it is a dead letter. */
function EventFacts({ event, transport, now, query }: EventFactsProps): JSX.Element {
  const { id, kind, type, service, causeId, acceptedAt, attempt, error, step, isDeadLetter } = event;
  return (
    <section class="card request-event" aria-label={`${kind === 'workflow' ? 'Run' : 'Event'} ${id}`}>
      <dl class="facts">
        <Fact label={kind === 'workflow' ? 'Workflow' : 'Event type'}>
          {kind === 'workflow' ? (
            <a href={viewPath('workflows', type) + query}>
              <bdi>{type}</bdi>
            </a>
          ) : (
            <EventLink type={type} query={query} />
          )}
        </Fact>
        <Fact label="Id">
          <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />
        </Fact>
        <Fact label="Caused by">
          {causeId === undefined ? 'outside' : <IdLink id={causeId} name="event" query={query} />}
        </Fact>
        <Fact label="Accepted">
          <time dateTime={new Date(acceptedAt).toISOString()} title={formatDateTime(acceptedAt)}>
            {formatAgo(now - acceptedAt)}
          </time>
        </Fact>
        <Fact label="Service">{service}</Fact>
        <Fact label="Attempt">{attempt}</Fact>
        {error && (
          <Fact label={step === undefined ? 'Error' : `Error in ${step}`} isWide>
            <strong class="tone-failed">{error.name}</strong> {error.message}
          </Fact>
        )}
      </dl>
      {isDeadLetter === true && <CodeToCopy code={replayCode(id, transport)} />}
    </section>
  );
}

interface FactProps {
  readonly label: string;
  /** True for a line of its own. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

function Fact({ label, isWide = false, children }: FactProps): JSX.Element {
  return (
    <div class={isWide ? 'fact-wide' : undefined}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
