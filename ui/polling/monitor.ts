import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Api } from '../api/api.js';
import { RequestError } from '../api/request-error.js';
import type { Navigation } from '../routing/navigation.js';
import type { Interval } from '../routing/route.js';
import { createHubStore, type HubStore } from '../store/hub-store.js';
import { type Announcer, createAnnouncer } from './announcer.js';
import { type Connection, connectionOf } from './connection-state.js';
import { createEventDetail, type Detail } from './event-detail.js';
import { createPoller } from './poller.js';
import { createServerClock } from './server-clock.js';

/** Keeps the page's knowledge of the hub fresh, and tells how fresh it is. */
export interface Monitor {
  readonly store: HubStore;
  /** The open panel's type in depth. */
  readonly detail: ReadonlySignal<Detail | null>;
  readonly connection: ReadonlySignal<Connection>;
  readonly announcement: Announcer['text'];
  /** Milliseconds on the monotonic clock, once a second while the tab is shown. */
  readonly now: ReadonlySignal<number>;
  /** Epoch milliseconds on the server's clock, as often. */
  readonly serverNow: ReadonlySignal<number>;
  /** When the last good answer came, on the monotonic clock. */
  readonly lastGoodAt: ReadonlySignal<number | null>;
  /** When the next request is due, on that clock; `null` while one goes on or polling is off. */
  readonly nextAt: ReadonlySignal<number | null>;
  refresh(): void;
  /** Stops polling and the clock while `held`. */
  hold(held: boolean): void;
  /** Leaves nothing running. */
  stop(): void;
}

/** Polls while the document is shown, at the pace that the route sets. */
export function createMonitor(api: Api, navigation: Navigation, document: Document): Monitor {
  const { openType } = navigation;
  const store = createHubStore();
  const { detail, load } = createEventDetail(api);
  const announcer = createAnnouncer();
  const now = signal(performance.now());
  const serverClock = createServerClock(now);
  const awaitingSince = signal(now.value);
  const lastGoodAt = signal<number | null>(null);
  const tookMs = signal(0);
  const error = signal<RequestError | null>(null);
  const interval = computed(() => intervalMs(navigation.route.value.every));

  const run = async (abort: AbortSignal): Promise<boolean> => {
    const askedAt = performance.now();
    try {
      const { introspection, sentAt } = await api.introspection(abort);
      const answeredAt = performance.now();
      // The answer of a large hub has taken half a frame to read: whatever waits to be drawn comes first.
      await new Promise((resolve) => setTimeout(resolve));
      abort.throwIfAborted();
      // Whole numbers take a third of the room in the histories of thousands of types.
      const at = Math.round(performance.now());
      lastGoodAt.value = now.value = at;
      tookMs.value = answeredAt - askedAt;
      serverClock.sync(sentAt, at);
      const { newFailures } = store.apply(introspection, { at, serverNow: serverClock.now.value });
      announcer.failures(newFailures);
      error.value = null;
    } catch (cause) {
      if (abort.aborted) return false;
      if (!(cause instanceof RequestError)) throw cause;
      error.value = cause;
      return false;
    }
    // One request at a time: the panel's follows the table's.
    if (openType.value !== null) await load(openType.value, abort);
    return true;
  };

  const poller = createPoller({ run, intervalMs: () => interval.peek() });
  const connection = computed(() =>
    connectionOf({
      now: now.value,
      intervalMs: interval.value,
      lastGoodAt: lastGoodAt.value,
      tookMs: tookMs.value,
      awaitingSince: awaitingSince.value,
      error: error.value,
    }),
  );

  // A server about as slow as that would be talked of over and over.
  const announced = computed(() => (connection.value.kind === 'slow' ? 'live' : connection.value.kind));

  let clock: ReturnType<typeof setInterval> | undefined;
  const tick = (): void => {
    now.value = performance.now();
  };
  const suspend = (): void => {
    clearInterval(clock);
    poller.suspend();
  };
  let isHeld = false;
  const followVisibility = (): void => {
    suspend();
    if (isHeld || document.visibilityState === 'hidden') return;
    tick();
    awaitingSince.value = now.value;
    clock = setInterval(tick, 1_000);
    poller.resume();
  };

  const window = document.defaultView;
  const listeners = new AbortController();
  const untilEnd = { signal: listeners.signal };
  document.addEventListener('visibilitychange', followVisibility, untilEnd);
  window?.addEventListener('pagehide', suspend, untilEnd);
  window?.addEventListener('online', poller.refresh, untilEnd);
  followVisibility();

  const stops = [
    effect(() => announcer.connection(announced.value)),
    onChange(interval, (ms) => {
      awaitingSince.value = performance.now();
      if (ms === null) poller.skip();
      else poller.refresh();
    }),
    onChange(openType, (type) => type !== null && poller.refresh()),
  ];

  return {
    store,
    detail,
    connection,
    announcement: announcer.text,
    now,
    serverNow: serverClock.now,
    lastGoodAt,
    nextAt: poller.nextAt,
    refresh: poller.refresh,
    hold: (held) => {
      isHeld = held;
      followVisibility();
    },
    stop: () => {
      suspend();
      listeners.abort();
      for (const end of stops) end();
    },
  };
}

function intervalMs(every: Interval): number | null {
  return every === 'off' ? null : Number(every) * 1_000;
}

/** Calls back on every change after the first value. */
function onChange<T>(source: ReadonlySignal<T>, callback: (value: T) => void): () => void {
  let first = true;
  return source.subscribe((value) => {
    if (!first) callback(value);
    first = false;
  });
}
