import type { Logger } from '../../transports/logger.js';

const intervalMs = 60_000;

/**
 * Creates a function that logs refused requests, at most one line per reason and minute: requests of a stranger must not
 * fill the log. Each line has the number of refusals since the previous one.
 *
 * @param now current time in milliseconds from an arbitrary point
 */
export function createRefusalLog(logger: Logger, now: () => number): (reason: string) => void {
  const reasons = new Map<string, { loggedAt: number; unlogged: number }>();
  return (reason) => {
    const entry = reasons.get(reason) ?? { loggedAt: Number.NEGATIVE_INFINITY, unlogged: 0 };
    reasons.set(reason, entry);
    entry.unlogged += 1;
    if (now() - entry.loggedAt < intervalMs) return;
    logger.warn({ refused: entry.unlogged }, `dashboard: requests refused: ${reason}`);
    entry.loggedAt = now();
    entry.unlogged = 0;
  };
}
