import { type ReadonlySignal, signal } from '@preact/signals';
import type { Api } from '../api/api.js';
import type { RequestTrace } from '../api/decoding/decode-request.js';
import { RequestError } from '../api/request-error.js';

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
