import type { JSX } from 'preact';
import { ChartTable, RangePicker } from '../charts/chart-table.js';
import { historyOfRange, historyPoints, perSecond, RANGE_LABEL, zoomedPoints } from '../charts/history-points.js';
import { TimeChart } from '../charts/time-chart.js';
import { formatPeriod } from '../format/clock-time.js';
import { formatAge, formatDuration } from '../format/duration.js';
import { emitCode } from '../format/hub-code.js';
import { formatPercent, formatRate, UNKNOWN } from '../format/number.js';
import { Snippet } from '../shared/copy-button.js';
import { Count } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { EmptyState } from '../shared/view-section.js';
import type { HubStore, Totals } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { failureRatio, ratePerSecond } from '../state/recent-activity.js';

export interface OverviewProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Key figures of the whole hub, and its chart once there was an event. Absent if nothing is registered. */
export function Overview({ monitor, navigation }: OverviewProps): JSX.Element | null {
  const { store } = monitor;
  const hasEvents = store.totals.value === null || wasUsed(store.totals.value);
  if (!hasEvents && store.rows.value.size === 0) return null;
  return (
    <section class="card overview" aria-label="Overview">
      <KpiStrip store={store} serverNow={monitor.serverNow.value} />
      {hasEvents ? <Activity monitor={monitor} navigation={navigation} /> : <NoEvents store={store} />}
    </section>
  );
}

/** Returns true if an event was received: since the start, or within the histories, which may be older. */
function wasUsed({ metrics, histories }: Totals): boolean {
  const lists = [histories.minutes, histories.fiveMinutes, histories.hours];
  return metrics.received > 0 || lists.some(({ received }) => received.some((count) => count > 0));
}

export interface KpiStripProps {
  readonly store: HubStore;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Key figures of the whole hub, each with its period. */
function KpiStrip({ store, serverNow }: KpiStripProps): JSX.Element {
  const totals = store.totals.value;
  const { hubNow, startedAt } = store.reading.value;
  const recent = totals?.recent;
  const metrics = totals?.metrics;
  const failed = recent && recent.last5Min.failed - recent.last5Min.cancelled;
  const oldest = metrics?.oldestPendingAt;
  return (
    <dl class="kpis">
      <Kpi label="Rate" period="1 min" title="Events received per second over the last minute">
        {recent ? formatRate(ratePerSecond(recent.minutes, hubNow, startedAt)) : UNKNOWN}
      </Kpi>
      <Kpi
        label="Failed"
        period="5 min"
        isFailed={failed !== undefined && failed > 0}
        title="Events that failed in the last 5 minutes"
      >
        {failed === undefined ? UNKNOWN : <Count value={failed} />}
      </Kpi>
      <Kpi
        label="Failure rate"
        period="5 min"
        isFailed={failed !== undefined && failed > 0}
        title="Failed events divided by completed and failed events of the last 5 minutes"
      >
        {formatPercent(recent ? failureRatio(recent.last5Min) : null)}
      </Kpi>
      <Kpi
        label="Pending"
        period={oldest === undefined ? 'now' : `oldest ${formatAge(serverNow - oldest)}`}
        title="Events that have not ended: waiting, delayed, suspended or running"
      >
        {metrics ? <Count value={metrics.pending} /> : UNKNOWN}
      </Kpi>
      <Kpi
        label="Waiting p95"
        period="5 min"
        title="Time from acceptance to the first attempt: 95 % of the events waited at most so long"
      >
        {formatDuration(recent?.waitP95Ms ?? null)}
      </Kpi>
      <Kpi label="Running p95" period="5 min" title="Duration of attempts: 95 % took at most so long">
        {formatDuration(recent?.durationP95Ms ?? null)}
      </Kpi>
      <Kpi label="Received" period="since start" title="Events accepted since the start">
        {metrics ? <Count value={metrics.received} /> : UNKNOWN}
      </Kpi>
    </dl>
  );
}

interface KpiProps {
  readonly label: string;
  readonly period: string;
  readonly title: string;
  readonly isFailed?: boolean;
  readonly children: JSX.Element | string;
}

function Kpi({ label, period, title, isFailed = false, children }: KpiProps): JSX.Element {
  return (
    <div class="kpi" title={title}>
      <dt>
        {label} <span class="kpi-period">{period}</span>
      </dt>
      <dd class={isFailed ? 'tone-failed' : undefined}>{children}</dd>
    </div>
  );
}

const HEIGHT = 128;

export interface ActivityProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Chart of the whole hub. A selected part of it fills the chart, and sets the period of the events table. */
function Activity({ monitor, navigation }: ActivityProps): JSX.Element {
  const { store, connection } = monitor;
  const { hubNow, startedAt } = store.reading.value;
  const { range, selection } = navigation.route.value;
  const totals = store.totals.value;
  const zoomed = totals && selection && zoomedPoints(totals.histories, selection, hubNow, startedAt);
  const points =
    zoomed ?? (totals === null ? [] : historyPoints(historyOfRange(totals.histories, range), hubNow, startedAt));
  const period =
    zoomed === null || selection === null
      ? `last ${RANGE_LABEL[range]}`
      : formatPeriod(selection.from, selection.to, hubNow);
  const showAll = (): void => navigation.go({ selection: null });
  const isPerSecond = points.some((point) => perSecond(point.received, point) >= 1);
  const title = `Events per ${isPerSecond ? 'second' : 'minute'}`;
  return (
    <section class="activity" aria-labelledby="activity-title">
      <div class="chart-head">
        <h2 id="activity-title">{title}</h2>
        <ul class="legend" aria-hidden="true">
          <li class="tone-received">
            <Icon name="dot" /> Received
          </li>
          <li class="tone-failed">
            <Icon name="triangle" /> Failed
          </li>
        </ul>
        {zoomed !== null && (
          <button type="button" class="chip zoom-out" onClick={showAll}>
            <Icon name="back" /> Zoom out
          </button>
        )}
        <RangePicker
          value={zoomed === null ? range : null}
          onChange={(next) =>
            navigation.go({ range: next, ...(zoomed !== null && { selection: null }) }, { replace: true })
          }
        />
      </div>
      <TimeChart
        label={`${title}, ${period}`}
        points={points}
        now={hubNow}
        isLive={connection.value.kind === 'live' || connection.value.kind === 'slow'}
        height={HEIGHT}
        selection={zoomed === null ? selection : null}
        onSelect={(next) => navigation.go({ selection: next })}
        onEscape={selection === null ? undefined : showAll}
      />
      <ChartTable caption={`Events, ${period}`} points={points} now={hubNow} />
    </section>
  );
}

/** Placeholder for the chart of a hub that has received no event, with code that emits one. */
function NoEvents({ store }: { store: HubStore }): JSX.Element {
  const rows = [...store.rows.value.values()];
  const row = rows.find((one) => one.eventKind === 'handler') ?? rows[0];
  return (
    <div class="no-events">
      <EmptyState title="No events yet">
        <p>Emit an event, and the chart appears here:</p>
        <Snippet code={emitCode(row?.type ?? '')} />
      </EmptyState>
    </div>
  );
}
