import type { JSX } from 'preact';
import { ChartTable } from '../../../charts/chart-table.js';
import { historyOfRange, historyPoints, perSecond, RANGE_LABEL } from '../../../charts/history-points.js';
import { RangePicker } from '../../../charts/range-picker.js';
import { TimeChart } from '../../../charts/time-chart.js';
import type { Detail } from '../../../polling/event-detail.js';
import type { Monitor } from '../../../polling/monitor.js';
import type { Navigation } from '../../../routing/navigation.js';

const HEIGHT = 88;

export interface TypeChartProps {
  readonly detail: Detail | null;
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Chart of one event type. */
export function TypeChart({ detail, monitor, navigation }: TypeChartProps): JSX.Element {
  const { hubNow, startedAt } = monitor.store.reading.value;
  const { kind } = monitor.connection.value;
  const isLive = kind === 'live' || kind === 'slow';
  // The details are loaded after the overview, so they have counted for longer.
  const now = isLive ? Math.max(hubNow, monitor.serverNow.value) : hubNow;
  const { range } = navigation.route.value;
  const histories = detail?.body?.histories;
  const points = histories === undefined ? [] : historyPoints(historyOfRange(histories, range), now, startedAt);
  const title = `Events per ${points.some((point) => perSecond(point.received, point) >= 1) ? 'second' : 'minute'}`;
  return (
    <section class="panel-section">
      <div class="chart-head">
        <h3>{title}</h3>
        <RangePicker value={range} onChange={(next) => navigation.go({ range: next }, { replace: true })} />
      </div>
      <TimeChart
        label={`${title} of this type, last ${RANGE_LABEL[range]}`}
        points={points}
        now={now}
        isLive={isLive}
        height={HEIGHT}
      />
      <ChartTable caption={`Events of this type, last ${RANGE_LABEL[range]}`} points={points} now={now} />
    </section>
  );
}
