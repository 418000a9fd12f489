import type { RequestError } from '../api/fetch-json.js';

/** State of the connection to the server. */
export type ConnectionState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'slow'; readonly tookMs: number }
  | { readonly kind: 'paused' }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'stale'; readonly ageMs: number }
  | { readonly kind: 'lost'; readonly error: RequestError };

/** Facts that determine the state. Times are milliseconds on the page's monotonic clock. */
export interface ConnectionFacts {
  readonly now: number;
  /** `null`: polling is off. */
  readonly intervalMs: number | null;
  /** Time of the last successful response. */
  readonly lastGoodAt: number | null;
  /** Duration of the last successful request. */
  readonly tookMs: number;
  /** Time at which the page started to wait for responses: when it was opened or its tab was shown again. */
  readonly awaitingSince: number;
  /** Error of the last request, if it failed. */
  readonly error: RequestError | null;
}

/** Minimum age of stale data. */
const MIN_STALE_MS = 5_000;

/** Minimum duration of a slow request. */
const SLOW_MS = 1_000;

/** Returns the state of the connection. */
export function connectionStateOf(facts: ConnectionFacts): ConnectionState {
  const { now, intervalMs, lastGoodAt, tookMs, awaitingSince, error } = facts;
  if (error !== null) return { kind: 'lost', error };
  if (lastGoodAt === null) return { kind: 'connecting' };
  if (intervalMs === null) return { kind: 'paused' };
  const overdue = now - Math.max(lastGoodAt, awaitingSince) > Math.max(MIN_STALE_MS, 3 * intervalMs);
  if (overdue) return { kind: 'stale', ageMs: now - lastGoodAt };
  return tookMs >= SLOW_MS ? { kind: 'slow', tookMs } : { kind: 'live' };
}
