import type { Counts } from '../../server/dashboard/protocol.js';
import { HISTORY_MS } from './history.js';
import type { Moment } from './moment.js';

/** What an event type is doing. */
export type EventStatus = 'failing' | 'active' | 'idle' | 'never';

/** A type that failed within this time is failing. */
export const FAILING_MS = HISTORY_MS;

/** A type that did anything within this time is active. */
export const ACTIVE_MS = 60_000;

/**
 * Decides the status of a type. The server's own times tell what happened before the page was opened; what the page saw
 * tells what has no time of its own, such as a delayed event that completed now. The first that holds:
 *
 * 1. failing: a failure in the last 5 minutes
 * 2. active: a handler runs, or an event came or ended in the last minute
 * 3. never: no event was ever received
 * 4. idle
 *
 * @param changedAt when the page last saw a count rise, on its monotonic clock
 * @param now when `counts` were read
 */
export function eventStatus(counts: Counts, changedAt: number, { at, serverNow }: Moment): EventStatus {
  if (isWithin(counts.lastFailedAt, FAILING_MS, serverNow)) return 'failing';
  if (counts.active > 0 || isWithin(counts.lastReceivedAt, ACTIVE_MS, serverNow)) return 'active';
  if (isWithin(changedAt, ACTIVE_MS, at)) return 'active';
  return counts.received === 0 ? 'never' : 'idle';
}

function isWithin(at: number | undefined, spanMs: number, now: number): boolean {
  return at !== undefined && now - at < spanMs;
}
