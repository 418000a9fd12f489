/** A pending call of a {@link Clock}. */
export interface Timer {
  /** Keeps the call from being made; without effect where it was made. */
  cancel(): void;
}

/** Where time comes from, so that a test can hold it in its hand. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds from an arbitrary point, never going back: for durations. */
  monotonic(): number;
  /** Calls `fn` once, `ms` from now or later. */
  after(ms: number, fn: () => void): Timer;
  /** Calls `fn` once, when what waits in the event loop has had its turn. */
  soon(fn: () => void): Timer;
}

// setTimeout fires at once above this; a longer wait is made of several.
const maxTimeoutMs = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    let handle: NodeJS.Timeout;
    const wait = (left: number): void => {
      handle = setTimeout(
        () => (left > maxTimeoutMs ? wait(left - maxTimeoutMs) : fn()),
        Math.min(Math.max(0, left), maxTimeoutMs),
      );
    };
    wait(ms);
    return { cancel: () => clearTimeout(handle) };
  },
  soon(fn) {
    const handle = setImmediate(fn);
    return { cancel: () => clearImmediate(handle) };
  },
};
