import { InvalidOptionError } from '../errors.js';
import type { Clock, Timer } from '../transports/clock.js';

/** A clock that stands still until it is told to move. */
export interface FakeClock extends Clock {
  /** Moves on by `ms`, 0 or more, calling what falls due in order, each in a settled process. */
  advance(ms: number): Promise<void>;
  /** Lets everything that waits for no time run to its end. */
  settle(): Promise<void>;
  /** Calls that are waiting for their time. */
  readonly pendingTimers: number;
}

interface Pending {
  readonly at: number;
  readonly fn: () => void;
}

/**
 * Time for tests: give it to `memoryTransport({ clock })` and move it by hand.
 *
 * @param startAt epoch milliseconds to begin with @default 2026-01-01T00:00:00Z
 */
export function createFakeClock(startAt: number = Date.UTC(2026, 0, 1)): FakeClock {
  // Counted from 0: beside an epoch's 13 digits a fraction of a millisecond is cut, and what was to wait for it falls
  // due before its time, again and again.
  let elapsed = 0;
  const pending = new Set<Pending>();
  const nextDue = (until: number): Pending | undefined => {
    let next: Pending | undefined;
    // Of those due at one time the first set is the first called: a Set keeps that order.
    for (const timer of pending) if (timer.at <= until && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  };
  // A turn of the real event loop ends when no promise is left to settle.
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
      const until = elapsed + ms;
      await settle();
      for (let next = nextDue(until); next !== undefined; next = nextDue(until)) {
        pending.delete(next);
        elapsed = Math.max(elapsed, next.at);
        next.fn();
        await settle();
      }
      elapsed = until;
    },
    get pendingTimers() {
      return pending.size;
    },
  };
}
