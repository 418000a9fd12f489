import { batch, computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Api } from '../api/api.js';
import type { EventDetail, RequestTrace } from '../api/decode-event.js';
import type { AgentRuns, Errors, Outlooks, Processes, TaggedEvents, Waits, WorkflowRuns } from '../api/decode-views.js';
import { RequestError } from '../api/fetch-json.js';
import { type Announcer, createAnnouncer } from './announcer.js';
import { type ConnectionState, connectionStateOf } from './connection-state.js';
import { createHubStore, type HubStore } from './hub-store.js';
import { coversEvent, createLoader, createViewLoader, type Loader } from './loader.js';
import { type Interval, type Navigation, openAgent, type Selection, type View } from './navigation.js';
import { createPoller } from './poller.js';

/** Data that is loaded while something is open. */
interface Opened {
  /** Details of the event type whose panel is open. */
  readonly detail: EventDetail;
  /** Events and runs of the open request. */
  readonly request: RequestTrace;
  /** Events and runs with the open tag. */
  readonly tagged: TaggedEvents;
  /** Waits of runs, while the view is open. */
  readonly waits: Waits;
  /** Groups of errors, while the view is open. */
  readonly errors: Errors;
  /** Due times and last outcomes of schedules, while the view is open. */
  readonly outlooks: Outlooks;
  /** Running hubs, while the view is open. */
  readonly processes: Processes;
  /** Runs of the open agent. */
  readonly agentRuns: AgentRuns;
  /** Runs of the open workflow. */
  readonly workflowRuns: WorkflowRuns;
}

type OpenedStates = { readonly [N in keyof Opened]: Loader<Opened[N]>['state'] };

/** State of the hub and of the connection to it, updated by polling. */
export interface Monitor extends OpenedStates {
  readonly store: HubStore;
  /** Returns a page of all retained runs of a workflow; `null` in a snapshot. */
  readonly listRuns: Api['runs'] | null;
  readonly connection: ReadonlySignal<ConnectionState>;
  readonly announcement: Announcer['text'];
  /** Milliseconds on the monotonic clock. Updates once per second while the tab is visible. */
  readonly now: ReadonlySignal<number>;
  /** Epoch milliseconds on the server's clock. Updates with `now`. */
  readonly serverNow: ReadonlySignal<number>;
  /** Time of the last successful response on the monotonic clock. */
  readonly lastGoodAt: ReadonlySignal<number | null>;
  /** Time of the next request on the monotonic clock; `null` during a request or if polling is off. */
  readonly nextAt: ReadonlySignal<number | null>;
  /** Polls now. */
  refresh(): void;
  /** Pauses polling and the clock while `held` is true. */
  hold(held: boolean): void;
  /** Stops polling, the clock and all listeners. */
  stop(): void;
}

/** Maximum time that counts wait for what is open, so that the page renders both at once. */
const MAX_WAIT_MS = 100;

/** Creates a monitor that polls while the document is visible, at the interval of the route. */
export function createMonitor(api: Api, navigation: Navigation, document: Document): Monitor {
  const { openType, openRequest, openTag, openWorkflow } = navigation;
  const store = createHubStore();
  const view = computed(() => navigation.route.value.view);
  /** Returns a key while one of the views is open. */
  const whenIn = (...views: readonly View[]): ReadonlySignal<string | null> =>
    computed(() => (views.includes(view.value) ? '' : null));
  const agent = computed(() =>
    view.value === 'agents' ? openAgent(navigation.route.value.name, store.agents.value) : null,
  );
  /** Loaders of what is open, which run beside the counts while their key is not `null`. */
  const opened = {
    detail: [openType, createLoader(api.event)],
    request: [openRequest, createLoader(api.request, coversEvent)],
    tagged: [openTag, createLoader(api.tagged)],
    agentRuns: [agent, createLoader(api.agentRuns)],
    workflowRuns: [openWorkflow, createLoader(api.workflowRuns)],
    waits: [whenIn('waits'), createViewLoader(api.waits)],
    errors: [whenIn('errors'), createViewLoader(api.errors)],
    outlooks: [whenIn('schedules'), createViewLoader(api.outlooks)],
    // The map has a column per service.
    processes: [whenIn('processes', 'flow'), createViewLoader(api.processes)],
  } satisfies {
    readonly [N in keyof Opened]: readonly [key: ReadonlySignal<string | null>, loader: Loader<Opened[N]>];
  };
  const loads: readonly (readonly [ReadonlySignal<string | null>, Pick<Loader<unknown>, 'load' | 'state'>])[] =
    Object.values(opened);
  const announcer = createAnnouncer();
  const now = signal(performance.now());
  const serverClock = createServerClock(now);
  const awaitingSince = signal(now.value);
  const lastGoodAt = signal<number | null>(null);
  const tookMs = signal(0);
  const error = signal<RequestError | null>(null);
  let lastSelection: Selection | null = null;
  // An equal selection is the same object, so that it is not loaded again.
  const selection = computed(() => {
    const next = navigation.route.value.selection;
    const isSame = next?.from === lastSelection?.from && next?.to === lastSelection?.to;
    if (!isSame) lastSelection = next;
    return lastSelection;
  });
  const interval = computed(() => intervalMs(navigation.route.value.every));

  /** Selection whose counts no later event can change. */
  let finalSelection: Selection | null = null;
  const loadRange = async (abort: AbortSignal, show: (change: () => void) => void): Promise<boolean> => {
    const selected = selection.value;
    if (selected === null || selected === finalSelection) return true;
    try {
      const range = await api.range(selected.from, selected.to, abort);
      show(() => {
        if (selection.value !== selected) return;
        store.select(range);
        if ((store.hub.value?.now ?? 0) >= range.to) finalSelection = selected;
      });
      return true;
    } catch (cause) {
      if (abort.aborted) return false;
      if (!(cause instanceof RequestError)) throw cause;
      show(() => {
        error.value = cause;
      });
      return false;
    }
  };

  /** Loads what is open, one request at a time: first the range of the table, then the panel. */
  const loadOpen = async (abort: AbortSignal, show: (change: () => void) => void): Promise<boolean> => {
    const isLoaded = await loadRange(abort, show);
    for (const [key, loader] of loads) {
      if (key.value !== null) await loader.load(key.value, abort, show);
    }
    return isLoaded;
  };

  const run = async (abort: AbortSignal): Promise<boolean> => {
    const requestedAt = performance.now();
    let opened: Promise<boolean>;
    try {
      const { introspection, sentAt } = await api.introspection(abort);
      const respondedAt = performance.now();
      let held: (() => void)[] | null = [];
      opened = loadOpen(abort, (change) => {
        if (held === null) change();
        else held.push(change);
      });
      if (lastGoodAt.value !== null) {
        // Parsing the response of a large hub takes half a frame. Let the browser render what it shows first.
        await new Promise((resolve) => setTimeout(resolve));
        await Promise.race([opened.catch(() => {}), new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);
      }
      abort.throwIfAborted();
      // Integers take a third of the memory in the histories of thousands of types.
      const at = Math.round(performance.now());
      const changes = held;
      held = null;
      batch(() => {
        lastGoodAt.value = now.value = at;
        tookMs.value = respondedAt - requestedAt;
        serverClock.sync(sentAt, at);
        const { newFailures } = store.apply(introspection, { at, serverNow: serverClock.now.value });
        announcer.failures(newFailures);
        error.value = null;
        for (const change of changes) change();
      });
    } catch (cause) {
      if (abort.aborted) return false;
      if (!(cause instanceof RequestError)) throw cause;
      error.value = cause;
      return false;
    }
    return opened;
  };

  const poller = createPoller({ run, intervalMs: () => interval.peek() });
  const connection = computed(() =>
    connectionStateOf({
      now: now.value,
      intervalMs: interval.value,
      lastGoodAt: lastGoodAt.value,
      tookMs: tookMs.value,
      awaitingSince: awaitingSince.value,
      error: error.value,
    }),
  );

  // Otherwise a server near the limit would be announced again and again.
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
    if (isHeld || document.hidden) return;
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
    onChange(selection, (next) => {
      if (next === null) store.select(null);
      else poller.refresh();
    }),
    ...loads.map(([key]) => onChange(key, (next) => next !== null && poller.refresh())),
  ];

  return {
    store,
    // `Object.entries` widens the names and the states.
    ...(Object.fromEntries(Object.entries(opened).map(([name, [, { state }]]) => [name, state])) as OpenedStates),
    listRuns: api.runs,
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

/** Calls `callback` on every change after the first value. */
function onChange<T>(source: ReadonlySignal<T>, callback: (value: T) => void): () => void {
  let first = true;
  return source.subscribe((value) => {
    if (!first) callback(value);
    first = false;
  });
}

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
