import type { RequestError } from '../api/request-error.js';

/** How fresh the numbers on the screen are. */
export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'slow'; readonly tookMs: number }
  | { readonly kind: 'paused' }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'stale'; readonly ageMs: number }
  | { readonly kind: 'lost'; readonly error: RequestError };

/** What the connection is judged by. Times are milliseconds on the page's monotonic clock. */
export interface ConnectionFacts {
  readonly now: number;
  /** `null`: polling is off. */
  readonly intervalMs: number | null;
  /** When the last good answer came. */
  readonly lastGoodAt: number | null;
  /** How long the last good answer took. */
  readonly tookMs: number;
  /** When the page last began to wait for answers: at its opening, or as its tab was shown again. */
  readonly awaitingSince: number;
  /** Why the last request failed, where it did. */
  readonly error: RequestError | null;
}

/** Numbers are never called stale before this age. */
const MIN_STALE_MS = 5_000;

/** An answer that takes as long is worth a word: people no longer see what happens as it does. */
const SLOW_MS = 1_000;

export function connectionOf(facts: ConnectionFacts): Connection {
  const { now, intervalMs, lastGoodAt, tookMs, awaitingSince, error } = facts;
  if (error !== null) return { kind: 'lost', error };
  if (lastGoodAt === null) return { kind: 'connecting' };
  if (intervalMs === null) return { kind: 'paused' };
  const overdue = now - Math.max(lastGoodAt, awaitingSince) > Math.max(MIN_STALE_MS, 3 * intervalMs);
  if (overdue) return { kind: 'stale', ageMs: now - lastGoodAt };
  return tookMs >= SLOW_MS ? { kind: 'slow', tookMs } : { kind: 'live' };
}
