import { type ReadonlySignal, signal } from '@preact/signals';
import type { EventBody } from '../../server/dashboard/protocol.js';
import type { Api } from '../api/api.js';
import { RequestError } from '../api/request-error.js';

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
