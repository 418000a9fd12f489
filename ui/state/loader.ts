import { type ReadonlySignal, signal } from '@preact/signals';
import type { RequestTrace } from '../api/decode-event.js';
import { RequestError } from '../api/fetch-json.js';

/** Data of a view that is loaded while the view is open. */
export interface Loaded<T> {
  /** Item that the data is about; empty if the view has one only. */
  readonly key: string;
  /** Last successful response; `null` before the first one. */
  readonly body: T | null;
  /** Error of the last request, if it failed. */
  readonly error: RequestError | null;
}

/** Loader of a view's data. */
export interface Loader<T> {
  readonly state: ReadonlySignal<Loaded<T> | null>;
  /**
   * Loads the data of an item. If the request fails, the last data of the same item remains.
   *
   * @param show calls a function that shows what was loaded. @default at once
   */
  load(key: string, signal: AbortSignal, show?: (change: () => void) => void): Promise<void>;
}

/**
 * Creates a loader.
 *
 * @param request requests the data of an item
 * @param covers returns `true` if data contains another item too, which is then shown at once
 */
export function createLoader<T>(
  request: (key: string, signal: AbortSignal) => Promise<T>,
  covers: (body: T, key: string) => boolean = () => false,
): Loader<T> {
  const state = signal<Loaded<T> | null>(null);
  return {
    state,
    load: async (key, abort, show = (change) => change()) => {
      const { key: shown, body } = state.value ?? { key, body: null };
      const last = body !== null && (shown === key || covers(body, key)) ? body : null;
      if (last !== null && shown !== key) state.value = { key, body: last, error: null };
      const set = (loaded: Omit<Loaded<T>, 'key'>): void =>
        show(() => {
          state.value = { key, ...loaded };
        });
      try {
        set({ body: await request(key, abort), error: null });
      } catch (error) {
        if (abort.aborted) return;
        if (!(error instanceof RequestError)) throw error;
        set({ body: last, error });
      }
    },
  };
}

/** Creates a loader for a view that has one item only. */
export function createViewLoader<T>(request: (signal: AbortSignal) => Promise<T>): Loader<T> {
  return createLoader((_key, abort) => request(abort));
}

/** Returns `true` if the data of a request contains the event of an id, or the request has the id. */
export function coversEvent({ requestId, events }: RequestTrace, id: string): boolean {
  return requestId === id || events.some((event) => event.id === id);
}
