import { type ReadonlySignal, signal } from '@preact/signals';
import { RequestError } from '../api/request-error.js';

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
  /** Loads the data of an item. If the request fails, the last data of the same item remains. */
  load(key: string, signal: AbortSignal): Promise<void>;
}

/** Creates a loader. @param request requests the data of an item */
export function createLoader<T>(request: (key: string, signal: AbortSignal) => Promise<T>): Loader<T> {
  const state = signal<Loaded<T> | null>(null);
  return {
    state,
    load: async (key, abort) => {
      const last = state.value?.key === key ? state.value.body : null;
      try {
        state.value = { key, body: await request(key, abort), error: null };
      } catch (error) {
        if (abort.aborted) return;
        if (!(error instanceof RequestError)) throw error;
        state.value = { key, body: last, error };
      }
    },
  };
}
