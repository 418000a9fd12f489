import type { PeriodCounts, RecentActivity } from '../../server/dashboard/protocol.js';

const MINUTE_MS = 60_000;

/** Returns the failure rate of a period, without cancelled events; `null` if no event ended in it. */
export function failureRatio({
  completed,
  failed,
  cancelled,
}: Pick<PeriodCounts, 'completed' | 'failed' | 'cancelled'>): number | null {
  const ended = completed + failed - cancelled;
  return ended === 0 ? null : (failed - cancelled) / ended;
}

/**
 * Returns events received per second over the last minute: the current minute and the part of the previous one that the
 * last 60 seconds cover. The minutes end with the current one. `null` before the start.
 *
 * @param now time at which the counts were read, in epoch milliseconds
 * @param startedAt time at which the hub started; `null` if it is not known
 */
export function ratePerSecond(
  { received }: Pick<RecentActivity['minutes'], 'received'>,
  now: number,
  startedAt: number | null,
): number | null {
  const current = received.at(-1) ?? 0;
  const previous = received.at(-2) ?? 0;
  const elapsedMs = now % MINUTE_MS;
  // A younger hub has received nothing before its start, unless an older process of its fleet has.
  const spanMs = startedAt === null ? MINUTE_MS : Math.min(MINUTE_MS, now - startedAt);
  if (spanMs <= 0) return null;
  if (spanMs < MINUTE_MS) return ((current + previous) / Math.max(1_000, spanMs)) * 1_000;
  return (current + previous * (1 - elapsedMs / MINUTE_MS)) / 60;
}

/** Number of minutes of a trend, the current one included. */
export const TREND_MINUTES = 20;

export const TREND_WIDTH = 100;
export const TREND_HEIGHT = 20;

const GAP = 1;

/** Minimum height of a bar, so that a tiny count shows beside a large one. */
const FLOOR = 2;

/** Small chart of the last 20 minutes, as path data of an SVG of `TREND_WIDTH` by `TREND_HEIGHT`; empty without events. */
export type Trend = readonly [received: string, failed: string];

/**
 * Draws one bar per minute, with the share of failed events at its foot, on a scale from 0 to the largest minute.
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
  let [receivedPath, failedPath] = ['', ''];
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const x = (TREND_MINUTES - length + index) * step;
    const failures = fromEnd(failed, length - index);
    const height = barHeight(count / max);
    const failedHeight =
      failures === 0 ? 0 : Math.min(height, Math.max(FLOOR, Math.round((failures / count) * height)));
    if (failedHeight > 0) failedPath += bar(x, step, 0, failedHeight);
    if (height > failedHeight) receivedPath += bar(x, step, failedHeight, height - failedHeight);
  }
  return [receivedPath, failedPath];
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
