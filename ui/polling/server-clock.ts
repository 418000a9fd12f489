import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** The server's clock, as the page can tell it. */
export interface ServerClock {
  /** Epoch milliseconds; the page's own clock until an answer told otherwise. */
  readonly now: ReadonlySignal<number>;
  /** Takes in the time that an answer states, which came at `at` on the page's monotonic clock. */
  sync(sentAt: number, at: number): void;
}

/** Stated times fall behind by less: they are cut to the second, and travel. */
const MAX_LAG_MS = 2_000;

/** @param pageNow milliseconds on the page's monotonic clock */
export function createServerClock(pageNow: ReadonlySignal<number>): ServerClock {
  const synced = signal<number | null>(null);
  return {
    now: computed(() => (synced.value ?? performance.timeOrigin) + pageNow.value),
    sync: (sentAt, at) => {
      const offset = sentAt - at;
      const last = synced.value;
      // A stated time only ever falls behind, so the largest offset is the best; one far below says the clock was set back.
      if (last === null || offset > last || offset < last - MAX_LAG_MS) synced.value = offset;
    },
  };
}
