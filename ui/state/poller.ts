import { type ReadonlySignal, signal } from '@preact/signals';

/** Runs one task repeatedly, one run at a time. */
export interface Poller {
  /** Time of the next run on the monotonic clock; `null` during a run or if none is scheduled. */
  readonly nextAt: ReadonlySignal<number | null>;
  /** Runs now and replaces the current or scheduled run. Does nothing while suspended. */
  refresh(): void;
  /** Cancels the scheduled run. A current run continues. */
  skip(): void;
  /** Aborts the current run and schedules none until `resume`. */
  suspend(): void;
  /** Continues with an immediate run. If polling is off, it runs only if no run has succeeded yet. */
  resume(): void;
}

/** Options of `createPoller`. */
export interface PollerOptions {
  /** Resolves to true on success. Consecutive failures wait longer and longer. Must end when the signal aborts. */
  run(signal: AbortSignal): Promise<boolean>;
  /** Returns the time from the end of a run to the next; `null` for none. Called after every run. */
  intervalMs(): number | null;
}

/** Maximum delay between retries. */
const MAX_DELAY_MS = 60_000;

/** Returns the delay after a number of consecutive failures: the interval, doubled from the second failure on. */
export function backoffMs(intervalMs: number, failures: number): number {
  return Math.max(intervalMs, Math.min(MAX_DELAY_MS, intervalMs * 2 ** Math.max(0, failures - 1)));
}

/** Creates a poller that is suspended until `resume` is called. */
export function createPoller({ run, intervalMs }: PollerOptions): Poller {
  const nextAt = signal<number | null>(null);
  let suspended = true;
  let hasSucceeded = false;
  let failures = 0;
  let current: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const skip = (): void => {
    clearTimeout(timer);
    nextAt.value = null;
  };

  const cancel = (): void => {
    skip();
    current?.abort();
    current = undefined;
  };

  const schedule = (): void => {
    const interval = intervalMs();
    if (interval === null) return;
    const delayMs = backoffMs(interval, failures);
    nextAt.value = performance.now() + delayMs;
    timer = setTimeout(() => void cycle(), delayMs);
  };

  const cycle = async (): Promise<void> => {
    cancel();
    const own = new AbortController();
    current = own;
    let succeeded = false;
    try {
      succeeded = await run(own.signal);
    } finally {
      if (current === own) {
        current = undefined;
        hasSucceeded ||= succeeded;
        failures = succeeded ? 0 : failures + 1;
        schedule();
      }
    }
  };

  return {
    nextAt,
    refresh: () => {
      if (!suspended) void cycle();
    },
    skip,
    suspend: () => {
      suspended = true;
      cancel();
    },
    resume: () => {
      suspended = false;
      if (!hasSucceeded || intervalMs() !== null) void cycle();
    },
  };
}
