import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** Estimate of the server's clock. */
export interface ServerClock {
  /** Epoch milliseconds. Before the first response, this is the page's own clock. */
  readonly now: ReadonlySignal<number>;
  /** Applies the time of a response that arrived at `at` on the page's monotonic clock. */
  sync(sentAt: number, at: number): void;
}

/** Maximum lag of a response's time, from rounding to the second and from latency. */
const MAX_LAG_MS = 2_000;

/**
 * Creates a clock that runs with the page and follows the server.
 *
 * @param pageNow milliseconds on the page's monotonic clock
 */
export function createServerClock(pageNow: ReadonlySignal<number>): ServerClock {
  const synced = signal<number | null>(null);
  return {
    now: computed(() => (synced.value ?? performance.timeOrigin) + pageNow.value),
    sync: (sentAt, at) => {
      const offset = sentAt - at;
      const last = synced.value;
      // Times only lag, so the largest offset is the best one. A much smaller one means that the clock was set back.
      if (last === null || offset > last || offset < last - MAX_LAG_MS) synced.value = offset;
    },
  };
}
