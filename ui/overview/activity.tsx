import type { JSX } from 'preact';
import { ChartTable } from '../charts/chart-table.js';
import { historyOfRange, historyPoints, perSecond, RANGE_LABEL } from '../charts/history-points.js';
import { RangePicker } from '../charts/range-picker.js';
import { TimeChart } from '../charts/time-chart.js';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import { Icon } from '../controls/icon.js';

const HEIGHT = 128;

export interface ActivityProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Chart of the whole hub. A selected part of it sets the period of the events table. */
export function Activity({ monitor, navigation }: ActivityProps): JSX.Element {
  const { store, connection } = monitor;
  const { hubNow, startedAt } = store.reading.value;
  const { range, selection } = navigation.route.value;
  const totals = store.totals.value;
  const points = totals === null ? [] : historyPoints(historyOfRange(totals.histories, range), hubNow, startedAt);
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
        <RangePicker value={range} onChange={(next) => navigation.go({ range: next }, { replace: true })} />
      </div>
      <TimeChart
        label={`${title}, last ${RANGE_LABEL[range]}`}
        points={points}
        now={hubNow}
        isLive={connection.value.kind === 'live' || connection.value.kind === 'slow'}
        height={HEIGHT}
        selection={selection}
        onSelect={(next) => navigation.go({ selection: next })}
      />
      <ChartTable caption={`Events, last ${RANGE_LABEL[range]}`} points={points} now={hubNow} />
    </section>
  );
}
