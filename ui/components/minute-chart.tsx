import type { JSX } from 'preact';
import type { MinuteBucket } from '../../server/dashboard/protocol.js';
import { formatMinute } from '../format/clock-time.js';
import { formatCount } from '../format/count.js';
import { ChartLegend } from './chart-legend.js';
import { ChartTable } from './chart-table.js';
import { type Bar, StackedChart } from './stacked-chart.js';

/** One event type's last hour by the minute. */
export function MinuteChart({ buckets }: { buckets: readonly MinuteBucket[] }): JSX.Element {
  const caption = 'Events by the minute over the last hour';
  return (
    <>
      <ChartLegend />
      <StackedChart
        label={`${caption}; the table below has the numbers`}
        bars={buckets.map(toBar)}
        format={(count) => (Number.isInteger(count) ? formatCount(count) : '')}
        start="1 h ago"
        end="now"
      />
      <ChartTable
        caption={caption}
        rows={buckets.map((bucket) => ({ ...bucket, time: formatMinute(bucket.at) })).reverse()}
      />
    </>
  );
}

function toBar(bucket: MinuteBucket): Bar {
  const { received, completed, failed } = bucket;
  const numbers = `${formatCount(received)} received, ${formatCount(completed)} completed, ${formatCount(failed)} failed`;
  return {
    received,
    completed,
    failed,
    known: true,
    restarted: false,
    title: `${formatMinute(bucket.at)}: ${numbers}`,
  };
}
