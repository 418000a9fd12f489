import { type ReadonlySignal, signal } from '@preact/signals';

/** Runs one task over and over, never twice at a time. */
export interface Poller {
  /** When the next run is due, on the monotonic clock; `null` while one goes on or none is planned. */
  readonly nextAt: ReadonlySignal<number | null>;
  /** Runs now, in place of the run that goes on or is planned. Does nothing while suspended. */
  refresh(): void;
  /** Cancels the planned run; one that goes on comes to its end. */
  skip(): void;
  /** Ends the run that goes on and plans none until `resume`. */
  suspend(): void;
  /** Goes on, with a run at once; where polling is off, only if there never was a good one. */
  resume(): void;
}

export interface PollerOptions {
  /** Tells whether the run was good; bad ones in a row wait longer and longer. Must end when the signal aborts. */
  run(signal: AbortSignal): Promise<boolean>;
  /** Time from the end of a run to the next; `null` plans none. Asked after every run. */
  intervalMs(): number | null;
}

/** A server that is away is asked no less often than this. */
const MAX_DELAY_MS = 60_000;

/** The delay after so many failures in a row: the interval, doubled from the second failure on. */
export function backoffMs(intervalMs: number, failures: number): number {
  return Math.max(intervalMs, Math.min(MAX_DELAY_MS, intervalMs * 2 ** Math.max(0, failures - 1)));
}

/** A poller that is suspended until `resume` is called. */
export function createPoller({ run, intervalMs }: PollerOptions): Poller {
  const nextAt = signal<number | null>(null);
  let suspended = true;
  let everGood = false;
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

  const plan = (): void => {
    const interval = intervalMs();
    if (interval === null) return;
    const delayMs = backoffMs(interval, failures);
    nextAt.value = performance.now() + delayMs;
    timer = setTimeout(() => void cycle(), delayMs);
  };

  const cycle = async (): Promise<void> => {
    cancel();
    const mine = new AbortController();
    current = mine;
    let good = false;
    try {
      good = await run(mine.signal);
    } finally {
      if (current === mine) {
        current = undefined;
        everGood ||= good;
        failures = good ? 0 : failures + 1;
        plan();
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
      if (!everGood || intervalMs() !== null) void cycle();
    },
  };
}
