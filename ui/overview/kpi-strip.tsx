import type { JSX } from 'preact';
import { UNKNOWN } from '../format/count.js';
import { formatAge, formatDuration } from '../format/duration.js';
import { formatPercent, formatRate } from '../format/ratio.js';
import { Count } from '../shared/count.js';
import type { HubStore } from '../store/hub-store.js';
import { failureRatio, ratePerSecond } from '../store/period.js';

export interface KpiStripProps {
  readonly store: HubStore;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Key figures of the whole hub, each with its period. */
export function KpiStrip({ store, serverNow }: KpiStripProps): JSX.Element {
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
