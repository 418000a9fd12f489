import type { Counts } from '../../server/dashboard/protocol.js';
import { HISTORY_MS } from './history.js';
import type { Moment } from './moment.js';

/** Status of an event type. */
export type EventStatus = 'failing' | 'active' | 'idle' | 'never';

/** A type is failing for this time after a failure. */
export const FAILING_MS = HISTORY_MS;

/** A type is active for this time after any activity. */
export const ACTIVE_MS = 60_000;

/**
 * Returns the status of a type. The server's times cover the time before the page was opened; `changedAt` covers changes
 * without a time, such as a delayed event that completes. The first rule that applies decides:
 *
 * 1. failing: an event failed in the last 5 minutes
 * 2. active: a handler runs, or an event was received or ended in the last minute
 * 3. never: no event was ever received
 * 4. idle: none of the above
 *
 * @param changedAt time at which the page last saw a counter rise, on its monotonic clock
 * @param now time at which `counts` were read
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
