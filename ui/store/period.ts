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
