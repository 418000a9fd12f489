import type { JSX } from 'preact';
import type { History, Problem } from '../../server/dashboard/protocol.js';
import { HistoryChart } from '../charts/history-chart.js';
import { formatAge, formatPercentile } from '../format/duration.js';
import { emitCode } from '../format/hub-code.js';
import { formatCount, formatPercent, formatRate } from '../format/number.js';
import { Snippet } from '../shared/copy-button.js';
import { Count } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { isNarrow } from '../shared/use-element.js';
import { EmptyState } from '../shared/view-section.js';
import { rangeRate, sumRange } from '../state/event-row.js';
import type { HubStore, Totals } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { failureRatio, ratePerSecond } from '../state/recent-activity.js';
import { isQueueProblem } from './backlog.js';

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
  return (
    metrics.received > 0 ||
    Object.values<History>({ ...histories }).some(({ received }) => received.some((count) => count > 0))
  );
}

export interface KpiStripProps {
  readonly store: HubStore;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Key figures of all event types, each with its period: of the selected range those that are counts. */
function KpiStrip({ store, serverNow }: KpiStripProps): JSX.Element {
  const totals = store.totals.value;
  const { hubNow, startedAt, range } = store.reading.value;
  const recent = totals?.recent;
  const metrics = totals?.metrics;
  const isSelected = range !== null;
  const counts = isSelected ? sumRange(range) : recent?.last5Min;
  const rate = isSelected
    ? rangeRate(sumRange(range), range, hubNow)
    : ((recent && ratePerSecond(recent.minutes, hubNow, startedAt)) ?? null);
  const received = isSelected ? counts?.received : metrics?.received;
  const failed = counts && counts.failed - counts.cancelled;
  const failedTone = failed !== undefined && failed > 0 ? 'failed' : undefined;
  const stuck = longestWait(store.health.value?.problems ?? [], serverNow);
  const periodOf = (period: string): string => (isSelected ? 'selected' : period);
  return (
    <dl class="kpis">
      <Kpi label="Event rate" period={periodOf('1 min')}>
        {formatRate(rate)}
      </Kpi>
      <Kpi label="Failed events" period={periodOf('5 min')} tone={failedTone}>
        <Count value={failed} />
      </Kpi>
      <Kpi label="Failure rate" period={periodOf('5 min')} tone={failedTone}>
        {formatPercent(counts ? failureRatio(counts) : null)}
      </Kpi>
      {!isSelected && (
        <>
          <Kpi
            label="Pending events"
            period={pendingText(metrics, serverNow, stuck !== null)}
            tone={stuck === null ? undefined : 'stale'}
          >
            <Count value={metrics?.pending} />
          </Kpi>
          <Kpi label="Waiting p95" period="5 min" warning={stuck}>
            {formatPercentile(recent?.waitP95Ms ?? null)}
          </Kpi>
          <Kpi label="Running p95" period="5 min">
            {formatPercentile(recent?.durationP95Ms ?? null)}
          </Kpi>
        </>
      )}
      <Kpi label="Received events" period={periodOf('since start')}>
        <Count value={received} />
      </Kpi>
    </dl>
  );
}

/**
 * Returns the age of the oldest pending event that is not suspended, and how many are suspended. Beside the age of what
 * waits, it would be another one if some run.
 */
function pendingText(metrics: Totals['metrics'] | undefined, now: number, isStuck: boolean): string {
  const { active = 0, suspended = 0, oldestPendingAt } = metrics ?? {};
  const facts = [
    isStuck && active > 0
      ? `${formatCount(active)} running`
      : oldestPendingAt !== undefined && `oldest ${formatAge(now - oldestPendingAt)}`,
    suspended > 0 && `${formatCount(suspended)} suspended`,
  ];
  return facts.filter(Boolean).join(', ') || 'now';
}

const LONG_MS = 5 * 60_000;

/**
 * Returns the longest wait of the problems of event types, in words; `null` without one. The percentile of the waiting
 * times has only events that started.
 */
export function longestWait(problems: readonly Problem[], now: number): string | null {
  const [first] = problems
    .flatMap(({ kind, since, eventType }) =>
      isQueueProblem(kind) && eventType !== undefined && since !== undefined && now - since >= LONG_MS
        ? { kind, since }
        : [],
    )
    .sort((a, b) => a.since - b.since);
  if (first === undefined) return null;
  return `${first.kind === 'no-process' ? 'no process for' : 'one waits for'} ${formatAge(now - first.since)}`;
}

interface KpiProps {
  readonly label: string;
  readonly period: string;
  readonly tone?: 'failed' | 'stale' | undefined;
  /** Stands below the label, which then has the period. */
  readonly warning?: string | null;
  readonly children: JSX.Element | string;
}

function Kpi({ label, period, tone, warning = null, children }: KpiProps): JSX.Element {
  const exact = period === '5 min' ? ': the current minute and the five before' : '';
  return (
    <div class="kpi" title={`${period}${exact}. Runs of workflows are not counted.`}>
      <dt>
        {label}
        {warning !== null && `, ${period}`}{' '}
        <span class={`kpi-period${warning === null ? '' : ' tone-stale'}`}>
          {warning !== null && <Icon name="clock" />}
          {warning ?? period}
        </span>
      </dt>
      <dd class={tone && `tone-${tone}`}>{children}</dd>
    </div>
  );
}

/** Chart of the whole hub. A selected part of it fills the chart, and sets the period of the events table. */
function Activity({ monitor, navigation }: OverviewProps): JSX.Element {
  const { store } = monitor;
  return (
    <section class="activity" aria-labelledby="activity-title">
      <HistoryChart
        histories={store.totals.value?.histories}
        now={store.reading.value.hubNow}
        monitor={monitor}
        navigation={navigation}
        heading="h2"
        id="activity-title"
        // Lower on a phone, for the first row of the table.
        height={isNarrow() ? 96 : 128}
        isSelectable
      />
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
