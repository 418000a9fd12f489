/** A pending call of a {@link Clock}. */
export interface Timer {
  /** Cancels the call; has no effect after it. */
  cancel(): void;
  /** Lets the process end before the call, as that of a Node timer does. Absent if the clock has nothing to do with it. */
  unref?(): void;
  /** Keeps the process alive until the call, as every timer does at first. */
  ref?(): void;
}

/** Source of time and timers, replaced by a fake one in tests. */
export interface Clock {
  /** Returns epoch milliseconds. */
  now(): number;
  /** Returns milliseconds from an arbitrary point that never go back: for durations. */
  monotonic(): number;
  /** Calls `fn` once after at least `ms` milliseconds. */
  after(ms: number, fn: () => void): Timer;
  /** Calls `fn` once after the callbacks that are already queued in the event loop. */
  soon(fn: () => void): Timer;
}

/** Longest delay of a timer: `setTimeout` fires at once for a longer one, so `after` chains several timers. */
export const maxTimeoutMs: number = 2 ** 31 - 1;

class SystemTimer implements Timer {
  #handle: NodeJS.Timeout;
  #isRef = true;

  constructor(ms: number, fn: () => void) {
    this.#handle = ms > maxTimeoutMs ? this.#waitLonger(ms, fn) : setTimeout(fn, Math.max(0, ms));
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  unref(): void {
    this.#isRef = false;
    this.#handle.unref();
  }

  ref(): void {
    this.#isRef = true;
    this.#handle.ref();
  }

  #waitLonger(ms: number, fn: () => void): NodeJS.Timeout {
    const wait = (left: number): NodeJS.Timeout =>
      left > maxTimeoutMs
        ? setTimeout(() => {
            this.#handle = wait(left - maxTimeoutMs);
            if (!this.#isRef) this.#handle.unref();
          }, maxTimeoutMs)
        : setTimeout(fn, left);
    return wait(ms);
  }
}

// The global is a getter, which takes longer than its clock.
const { performance } = globalThis;

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, fn) => new SystemTimer(ms, fn),
  soon(fn) {
    const handle = setImmediate(fn);
    return { cancel: () => clearImmediate(handle) };
  },
};

/** Calls a function at intervals of real time. Returns a function that ends this. */
export function lookRegularly(look: () => void, intervalMs: number): () => void {
  const timer = setInterval(look, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
