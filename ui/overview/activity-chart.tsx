import type { JSX } from 'preact';
import { ChartLegend } from '../charts/chart-legend.js';
import { ChartTable } from '../charts/chart-table.js';
import { type Bar, StackedChart } from '../charts/stacked-chart.js';
import { formatMinute, formatTime } from '../format/clock-time.js';
import { formatDuration } from '../format/duration.js';
import { formatRate } from '../format/ratio.js';
import { HISTORY_MS, type History, recentSlices, SLICE_MS, type Slice, sliceHistory } from '../store/history.js';

const MINUTE_MS = 60_000;

/** Chart of the last minutes of the whole hub, from the page's own samples. */
export function ActivityChart({ history }: { history: History }): JSX.Element {
  const until = history.at(-1)?.at ?? 0;
  const restarts = history.filter((sample) => sample.restarted).map((sample) => sample.at);
  const bars = recentSlices(history, until).map((slice) => toBar(slice, restarts));
  const span = formatDuration(bars.length * SLICE_MS);
  const minutes = sliceHistory(history, until, MINUTE_MS, HISTORY_MS / MINUTE_MS).filter(
    (slice) => slice.coveredMs > 0,
  );
  return (
    <section class="activity" aria-labelledby="activity-title">
      <div class="chart-head">
        <h2 id="activity-title" class="section-title">
          Events per second
        </h2>
        <ChartLegend />
      </div>
      <StackedChart
        label={`Events per second over the last ${span}; the table below has the data`}
        bars={bars}
        format={formatRate}
        start={`${span} ago`}
        end="now"
      />
      <ChartTable
        caption="Events per minute since this page was opened"
        rows={minutes.reverse().map((slice) => ({
          name: formatMinute(performance.timeOrigin + slice.at),
          received: Math.round(slice.received),
          completed: Math.round(slice.completed),
          failed: Math.round(slice.failed),
        }))}
      />
    </section>
  );
}

function toBar(slice: Slice, restarts: readonly number[]): Bar {
  const perSecond = (count: number): number => (slice.coveredMs === 0 ? 0 : (count / slice.coveredMs) * 1_000);
  return {
    name: formatTime(performance.timeOrigin + slice.at),
    received: perSecond(slice.received),
    completed: perSecond(slice.completed),
    failed: perSecond(slice.failed),
    known: slice.coveredMs > 0,
    restarted: restarts.some((at) => at >= slice.at && at < slice.at + SLICE_MS),
  };
}
