import type { RecentActivity } from '../../../server/dashboard/protocol.js';

/** Number of minutes of a trend, the current one included. */
export const TREND_MINUTES = 20;

/** Small chart of the last 20 minutes, as path data of an SVG of `TREND_WIDTH` by `TREND_HEIGHT`. */
export interface Trend {
  /** Bars of received events; empty if there are none. */
  readonly trendReceived: string;
  /** Share of failed events at the foot of each bar. */
  readonly trendFailed: string;
}

export const TREND_WIDTH = 100;
export const TREND_HEIGHT = 20;

const GAP = 1;

/** Minimum height of a bar, so that a tiny count shows beside a large one. */
const FLOOR = 2;

/**
 * Draws one bar per minute on a scale from 0 to the largest minute.
 *
 * @param minutes columns that end with the current minute, and that may have different lengths
 */
export function trendOf({ received, failed }: RecentActivity['minutes']): Trend {
  const step = TREND_WIDTH / TREND_MINUTES;
  const length = Math.max(received.length, failed.length);
  const counts = Array.from({ length }, (_, index) =>
    Math.max(fromEnd(received, length - index), fromEnd(failed, length - index)),
  );
  const max = Math.max(0, ...counts);
  const trend = { trendReceived: '', trendFailed: '' };
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const x = (TREND_MINUTES - length + index) * step;
    const failures = fromEnd(failed, length - index);
    const height = barHeight(count / max);
    const failedHeight =
      failures === 0 ? 0 : Math.min(height, Math.max(FLOOR, Math.round((failures / count) * height)));
    if (failedHeight > 0) trend.trendFailed += bar(x, step, 0, failedHeight);
    if (height > failedHeight) trend.trendReceived += bar(x, step, failedHeight, height - failedHeight);
  }
  return trend;
}

/** Returns the count at this distance from the end of a column, from 1; 0 before its start. */
function fromEnd(counts: readonly number[], distance: number): number {
  return counts[counts.length - distance] ?? 0;
}

function barHeight(share: number): number {
  return Math.max(FLOOR, Math.round(share * TREND_HEIGHT));
}

function bar(x: number, step: number, foot: number, height: number): string {
  return `M${x} ${TREND_HEIGHT - foot}v${-height}h${step - GAP}v${height}z`;
}
