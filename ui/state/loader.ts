import { type ReadonlySignal, signal } from '@preact/signals';
import type { EventBody } from '../../server/dashboard/protocol.js';
import type { Api } from '../api/api.js';
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

/** Details of the event type whose panel is open. */
export interface Detail {
  readonly type: string;
  /** Body of the last successful response; `null` before the first one. */
  readonly body: EventBody | null;
  /** Error of the last request, if it failed. */
  readonly error: RequestError | null;
}

/** Loader of event details. */
export interface EventDetail {
  readonly detail: ReadonlySignal<Detail | null>;
  /** Loads the details of a type. If the request fails, the last body remains. */
  load(type: string, signal: AbortSignal): Promise<void>;
}

/** Creates a loader of event details. */
export function createEventDetail(api: Api): EventDetail {
  const detail = signal<Detail | null>(null);
  return {
    detail,
    load: async (type, abort) => {
      const last = detail.value?.type === type ? detail.value.body : null;
      try {
        detail.value = { type, body: await api.event(type, abort), error: null };
      } catch (error) {
        if (abort.aborted) return;
        if (!(error instanceof RequestError)) throw error;
        detail.value = { type, body: last, error };
      }
    },
  };
}

/** Events and runs of the open request. */
export interface OpenRequest {
  /** Id in the URL: of the request or of an event of it. */
  readonly id: string;
  /** Body of the last successful response; `null` before the first one. */
  readonly trace: RequestTrace | null;
  /** Error of the last request, if it failed. */
  readonly error: RequestError | null;
}

/** Loader of requests. */
export interface RequestDetail {
  readonly request: ReadonlySignal<OpenRequest | null>;
  /** Loads the request of an id. If that fails, the last body of the same request remains. */
  load(id: string, signal: AbortSignal): Promise<void>;
}

/** Creates a loader of requests. */
export function createRequestDetail(api: Api): RequestDetail {
  const request = signal<OpenRequest | null>(null);
  return {
    request,
    load: async (id, abort) => {
      const last = request.value?.trace ?? null;
      const isSame = last !== null && (last.requestId === id || last.events.some((event) => event.id === id));
      // An event of the shown request is selected: its data is on the page already.
      if (isSame && request.value?.id !== id) request.value = { id, trace: last, error: null };
      try {
        request.value = { id, trace: await api.request(id, abort), error: null };
      } catch (error) {
        if (abort.aborted) return;
        if (!(error instanceof RequestError)) throw error;
        request.value = { id, trace: isSame ? last : null, error };
      }
    },
  };
}
