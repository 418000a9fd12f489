import type { JSX } from 'preact';
import type { MinuteBucket } from '../../server/dashboard/protocol.js';
import { formatMinute } from '../format/clock-time.js';
import { formatCount } from '../format/count.js';
import { ChartLegend } from './chart-legend.js';
import { ChartTable } from './chart-table.js';
import { StackedChart } from './stacked-chart.js';

/** Chart of the last hour of one event type, per minute. */
export function MinuteChart({ buckets }: { buckets: readonly MinuteBucket[] }): JSX.Element {
  const bars = buckets.map((bucket) => ({ ...bucket, name: formatMinute(bucket.at), known: true, restarted: false }));
  const caption = 'Events per minute over the last hour';
  return (
    <>
      <ChartLegend />
      <StackedChart
        label={`${caption}; the table below has the data`}
        bars={bars}
        format={(count) => (Number.isInteger(count) ? formatCount(count) : '')}
        start="1 h ago"
        end="now"
      />
      <ChartTable caption={caption} rows={bars.toReversed()} />
    </>
  );
}
