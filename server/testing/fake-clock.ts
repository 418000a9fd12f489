import { InvalidOptionError } from '../errors.js';
import type { Clock, Timer } from '../transports/clock.js';

/** Clock that advances only when a test advances it. */
export interface FakeClock extends Clock {
  /** Advances by `ms`, 0 or more, and calls due timers in order. Settles promises before each timer. */
  advance(ms: number): Promise<void>;
  /** Waits until all promises that do not depend on time are settled. */
  settle(): Promise<void>;
  /** Number of timers that are not due yet. */
  readonly pendingTimers: number;
}

interface Pending {
  readonly at: number;
  readonly fn: () => void;
}

/**
 * Creates a clock for tests. Pass it to `memoryTransport({ clock })`.
 *
 * @param startAt initial time in epoch milliseconds @default 2026-01-01T00:00:00Z
 * @throws {InvalidOptionError}
 */
export function createFakeClock(startAt: number = Date.UTC(2026, 0, 1)): FakeClock {
  if (!Number.isFinite(startAt)) {
    throw new InvalidOptionError('startAt of createFakeClock', 'epoch milliseconds, such as date.getTime()', startAt);
  }
  // Starts at 0: added to an epoch time of 13 digits, a fraction of a millisecond would be rounded off, and a timer for
  // the rest of a delay would be set again and again.
  let elapsed = 0;
  const pending = new Set<Pending>();
  /** Times to which calls of `advance` that are under way advance. */
  const targets = new Set<{ readonly until: number }>();
  const nextDue = (until: number): Pending | undefined => {
    let next: Pending | undefined;
    // Timers with the same due time fire in the order in which they were set: a Set keeps that order.
    for (const timer of pending) if (timer.at <= until && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  };
  // The real event loop reaches the next phase only after all pending promises are settled.
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const after = (ms: number, fn: () => void): Timer => {
    const timer = { at: elapsed + Math.max(0, ms), fn };
    pending.add(timer);
    return { cancel: () => pending.delete(timer) };
  };
  return {
    now: () => startAt + elapsed,
    monotonic: () => elapsed,
    after,
    soon(fn) {
      let isCancelled = false;
      queueMicrotask(() => {
        if (!isCancelled) fn();
      });
      return {
        cancel: () => {
          isCancelled = true;
        },
      };
    },
    settle,
    async advance(ms) {
      if (!(Number.isFinite(ms) && ms >= 0))
        throw new InvalidOptionError('ms of advance', 'milliseconds, 0 or more', ms);
      const target = { until: elapsed + ms };
      targets.add(target);
      try {
        await settle();
        for (;;) {
          // Of calls that overlap, the one with the nearest target ends first, so that time passes for both alike.
          const nearest = Math.min(...[...targets].map(({ until }) => until));
          const next = nextDue(nearest);
          if (next !== undefined) {
            pending.delete(next);
            elapsed = Math.max(elapsed, next.at);
            next.fn();
          } else {
            elapsed = Math.max(elapsed, nearest);
            if (nearest >= target.until) return;
          }
          await settle();
        }
      } finally {
        targets.delete(target);
      }
    },
    get pendingTimers() {
      return pending.size;
    },
  };
}
