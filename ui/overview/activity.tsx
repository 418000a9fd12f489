import type { JSX } from 'preact';
import { ChartTable } from '../charts/chart-table.js';
import { historyOfRange, historyPoints, perSecond, RANGE_LABEL, zoomedPoints } from '../charts/history-points.js';
import { RangePicker } from '../charts/range-picker.js';
import { TimeChart } from '../charts/time-chart.js';
import { Icon } from '../controls/icon.js';
import { formatPeriod } from '../format/clock-time.js';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';

const HEIGHT = 128;

export interface ActivityProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Chart of the whole hub. A selected part of it fills the chart, and sets the period of the events table. */
export function Activity({ monitor, navigation }: ActivityProps): JSX.Element {
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
