import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { EventDetails } from '../../server/dashboard/protocol.js';
import { useActions } from '../actions/actions.js';
import { EventActions } from '../actions/subject-actions.js';
import type { RequestTrace } from '../api/decode-event.js';
import { useCrosshair } from '../charts/use-crosshair.js';
import { formatDuration } from '../format/duration.js';
import { replayCode } from '../format/hub-code.js';
import { counted, formatCost, formatCount, UNKNOWN } from '../format/number.js';
import { ReplayCode } from '../shared/copy-button.js';
import { Fact } from '../shared/fact.js';
import { Icon } from '../shared/icon.js';
import { IdLink, TypeLink } from '../shared/links.js';
import { sumOf } from '../shared/lists.js';
import { lookOf } from '../shared/states.js';
import { Ago } from '../shared/times.js';
import { EmptyState, LoadedContent } from '../shared/view-section.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
import { spanOf, type TimeSpan } from '../workflows/step-bars.js';
import { ExplanationList } from './explanation.js';
import {
  BUCKETS,
  busyRows,
  foldTurns,
  isWithin,
  joinElements,
  mostAtOnce,
  totalMs,
  traceAxis,
  waitsIn,
} from './trace-axis.js';
import { type TraceRow, traceRows } from './trace-rows.js';
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
  const subject = trace?.events.find((event) => event.id === id) ?? trace?.events[0];
  const query = navigation.query.value;
  return (
    <section class="view" aria-labelledby="requests-title">
      <div class="view-head">
        <button type="button" class="back" onClick={() => navigation.go({ view: 'events', name: null })}>
          <Icon name="back" /> Events
        </button>
        <h2 id="requests-title" class="section-title" tabIndex={-1}>
          {subject && <TypeLink {...subject} query={query} />}{' '}
          <span class="panel-period">{subject ? 'in request' : 'Request'}</span>{' '}
          <bdi class="request-id">{trace?.requestId ?? id}</bdi>
        </h2>
      </div>
      {!trace && open?.error?.notFound ? (
        <EmptyState title="Not found">
          <p>{open.error.notFound}</p>
          <p>
            Of each type, the newest 50 completed and 50 failed events are retained, and{' '}
            <a href={viewPath('errors') + query}>errors</a> for longer.
          </p>
        </EmptyState>
      ) : (
        <LoadedContent monitor={monitor} data={open}>
          {(body) => (
            <Trace
              key={body.requestId}
              trace={body}
              id={id}
              transport={monitor.store.hub.value?.transport}
              query={query}
            />
          )}
        </LoadedContent>
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
  readonly query: string;
}

function Trace({ trace, id, transport, query }: TraceProps): JSX.Element {
  const { events, isTruncated, missingCauses, now } = trace;
  const [zoom, setZoom] = useState<TimeSpan | null>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const spent = spentIn(trace);
  const [model, ...others] = spent.models;
  const all = traceRows(events, now, others.length === 0 ? model : undefined);
  const joined = foldTurns(joinElements(all, open), open);
  const rows = joined.filter((row) => !zoom || row.event !== null || isWithin(row, zoom));
  const span = spanOf(all);
  const shown = zoom ?? span;
  const waits = waitsIn(shown, all);
  // What ran is hard to see beside long waits. A poll does not change it.
  const [isCut, setCut] = useState(() => totalMs(waits) > (span.to - span.from) / 2);
  const axis = traceAxis(shown, isCut ? waits : []);
  const most = mostAtOnce(all);
  // It has the whole time, which a cut leaves out.
  const hasOverview = !isCut && most > 0 && (most > 1 || waits[0] || zoom);
  const toggle = (key: string): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <>
      <RequestHead
        trace={trace}
        spent={spent}
        ms={span.to - span.from}
        event={events.find((event) => event.id === id)}
        transport={transport}
        query={query}
      />
      {isTruncated && <p class="panel-note">Only the first 1,000 events.</p>}
      {missingCauses > 0 && (
        <p class="panel-note">
          No longer retained: {counted(missingCauses, 'event')} of the request that led to others.
        </p>
      )}
      {trace.explanation && <ExplanationList explanation={trace.explanation} now={now} query={query} />}
      <div class="card trace">
        <div class="trace-tools">
          <div class="action-row">
            {zoom && (
              <button type="button" class="chip" onClick={() => setZoom(null)}>
                <Icon name="back" /> Show all
              </button>
            )}
            {(isCut || waits[0]) && (
              <button type="button" class="button" onClick={() => setCut(!isCut)}>
                {isCut ? 'Show waits' : 'Collapse waits'}
              </button>
            )}
            <p class="keys trace-keys" aria-hidden>
              <span>waited</span>
              <span class="is-suspended">waits now</span>
              {axis.cuts[0] && <span class="is-cut">wait cut out</span>}
              <span class="is-completed">ran</span>
              {model && <span class="is-completed is-model">model</span>}
              <span class="is-active">running</span>
              <span class="is-failed">failed</span>
            </p>
            {hasOverview && (
              <span class="panel-period trace-scale">Up to {formatCount(most)} at once · hold and drag to zoom</span>
            )}
          </div>
          {hasOverview && <TraceOverview rows={all} span={span} zoom={zoom} onZoom={setZoom} />}
        </div>
        <TraceTable rows={rows} axis={axis} startedAt={span.from} onToggle={toggle} selected={id} query={query} />
      </div>
    </>
  );
}

interface Spent {
  readonly turns: number;
  readonly toolCalls: number;
  readonly tokens: number;
  /** `null` if a call has no price, or if there was none. */
  readonly cost: number | null;
  readonly models: readonly string[];
}

/** Returns what the model calls of a request used. */
function spentIn({ events }: RequestTrace): Spent {
  const steps = events.flatMap((event) => event.steps ?? []);
  // Only those of a model have usage.
  const usages = steps.flatMap(({ turn }) => turn?.usage ?? []);
  const costs = usages.flatMap(({ cost }) => cost ?? []);
  return {
    turns: steps.filter(({ kind }) => kind === 'model').length,
    toolCalls: steps.filter(({ kind }) => kind === 'tool').length,
    tokens: sumOf(usages, ({ totalTokens }) => totalTokens),
    cost: costs.length > 0 && costs.length === usages.length ? sumOf(costs, (cost) => cost) : null,
    models: [...new Set(steps.flatMap(({ turn }) => turn?.model ?? []))],
  };
}

interface RequestHeadProps extends Omit<TraceProps, 'id'> {
  readonly spent: Spent;
  /** Milliseconds of the whole request. */
  readonly ms: number;
  /** Event or run of the route, if it has one. */
  readonly event: EventDetails | undefined;
}

/** Status, duration and cost of a request, then the facts of its selected event or run, with what a user can do with it. */
function RequestHead({
  trace: { events, requestId, now },
  spent,
  ms,
  event,
  transport,
  query,
}: RequestHeadProps): JSX.Element {
  const failed = events.filter(({ status }) => status === 'failed');
  const pending = events.filter(({ endedAt }) => endedAt === undefined).length;
  // What runs, or else what the others wait for.
  const status = (['active', 'waiting', 'delayed', 'suspended'] as const).find((each) =>
    events.some((one) => one.status === each),
  );
  const [icon, label, tone] = lookOf(failed[0] ? 'failed' : (status ?? 'completed'));
  const { turns, toolCalls, tokens, cost, models } = spent;
  const steps = sumOf(events, (each) => (each.steps?.length ?? 0) + (each.omittedSteps ?? 0));
  const [name, nameLabel] = event?.kind === 'workflow' ? (['run', 'Run'] as const) : (['event', 'Event'] as const);
  const mayReplay = useActions()?.may('replay');
  return (
    <section class="card request-card" aria-label={event ? `${nameLabel} ${event.id}` : 'Request'}>
      <dl class="stats">
        <Fact label="Status">
          <span class={`state is-${tone}`}>
            <Icon name={icon} />
            {failed[0] && events.length > 1
              ? `${failed.length > 1 ? formatCount(failed.length) : failed[0].type} failed`
              : label}
          </span>
        </Fact>
        <Fact label={pending > 0 ? 'So far' : 'Duration'}>{formatDuration(ms)}</Fact>
        {events.length > 1 && (
          <>
            <Fact label="Events and runs">{formatCount(events.length)}</Fact>
            {pending > 0 && <Fact label="Pending">{formatCount(pending)}</Fact>}
          </>
        )}
        {steps > 0 &&
          (steps > turns + toolCalls ? (
            <Fact label="Steps">{formatCount(steps)}</Fact>
          ) : (
            <>
              <Fact label="Turns">{formatCount(turns)}</Fact>
              <Fact label="Tool calls">{formatCount(toolCalls)}</Fact>
            </>
          ))}
        {models.length > 0 && (
          <>
            <Fact label="Tokens">{formatCount(tokens)}</Fact>
            <Fact label="Cost">{cost === null ? UNKNOWN : formatCost(cost)}</Fact>
            <Fact label={models.length === 1 ? 'Model' : 'Models'}>{models.join(', ')}</Fact>
          </>
        )}
      </dl>
      {event && (
        <>
          <dl class="request-event">
            {/* The title has that of the request. */}
            {event.id !== requestId && (
              <Fact label={nameLabel}>
                <IdLink id={event.id} name={name} query={query} />
              </Fact>
            )}
            {event.forkOf ? (
              <Fact label="Fork of">
                <IdLink id={event.forkOf.runId} name="run" query={query} /> from <bdi>{event.forkOf.step}</bdi>
              </Fact>
            ) : (
              event.causeId && (
                <Fact label="Caused by">
                  <IdLink id={event.causeId} name="event" query={query} />
                </Fact>
              )
            )}
            <Fact label="Accepted">
              <Ago at={event.acceptedAt} now={now} />
            </Fact>
            <Fact label="Service">{event.service}</Fact>
            {event.attempt > 1 && <Fact label="Attempt">{event.attempt}</Fact>}
            {event.error && (
              <Fact label={event.step ? `Error in ${event.step}` : 'Error'}>
                <strong class="tone-failed">{event.error.name}</strong> {event.error.message}
              </Fact>
            )}
          </dl>
          {event.isDeadLetter && !mayReplay && <ReplayCode code={replayCode(event.id, transport)} />}
          <EventActions event={event} query={query} />
        </>
      )}
    </section>
  );
}

interface TraceOverviewProps {
  readonly rows: readonly TraceRow[];
  readonly span: TimeSpan;
  readonly zoom: TimeSpan | null;
  readonly onZoom: (zoom: TimeSpan) => void;
}

const OVERVIEW_HEIGHT = 32;

/** Number of rows that run at once, over the whole time. Dragging, or arrow keys with Shift and then Enter, zoom in. */
function TraceOverview({ rows, span, zoom, onZoom }: TraceOverviewProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const timeAt = (bucket: number): number => span.from + (bucket / BUCKETS) * (span.to - span.from);
  const crosshair = useCrosshair(box, BUCKETS, (first, last) => onZoom({ from: timeAt(first), to: timeAt(last + 1) }));
  const counts = busyRows(rows, span);
  const max = Math.max(1, ...counts);
  const bars = counts.map((count, index) => {
    const height = count && Math.max(2, (count / max) * OVERVIEW_HEIGHT);
    return `L${index} ${OVERVIEW_HEIGHT - height}h1`;
  });
  const xOf = (time: number): number => ((time - span.from) / (span.to - span.from)) * BUCKETS;
  const [first, last] = crosshair.selecting ?? (zoom ? [xOf(zoom.from), xOf(zoom.to) - 1] : [0, -1]);
  const at = crosshair.at ?? BUCKETS - 1;
  return (
    <div
      ref={box}
      class="trace-overview"
      role="slider"
      tabIndex={0}
      aria-label="Time of the request. Shift and arrow keys select, Enter zooms in"
      aria-valuemin={0}
      aria-valuemax={BUCKETS - 1}
      aria-valuenow={at}
      aria-valuetext={`${formatDuration(timeAt(at) - span.from)}: ${formatCount(Math.ceil(counts[at] ?? 0))} run`}
      {...crosshair.handlers}
    >
      <svg viewBox={`0 0 ${BUCKETS} ${OVERVIEW_HEIGHT}`} preserveAspectRatio="none" aria-hidden>
        <path class="trace-busy" d={`M0 ${OVERVIEW_HEIGHT}${bars.join('')}V${OVERVIEW_HEIGHT}`} />
        <rect class="chart-selection" x={first} width={last + 1 - first} height={OVERVIEW_HEIGHT} />
      </svg>
    </div>
  );
}
