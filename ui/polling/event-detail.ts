import { type ReadonlySignal, signal } from '@preact/signals';
import type { EventBody } from '../../server/dashboard/protocol.js';
import type { Api } from '../api/api.js';
import { RequestError } from '../api/request-error.js';

/** What is known in depth of the type whose panel is open. */
export interface Detail {
  readonly type: string;
  /** The last good answer; `null` before the first. */
  readonly body: EventBody | null;
  /** Why the last request failed, where it did. */
  readonly error: RequestError | null;
}

export interface EventDetail {
  readonly detail: ReadonlySignal<Detail | null>;
  /** Asks for the type in depth. Keeps the last answer where the request fails. */
  load(type: string, signal: AbortSignal): Promise<void>;
}

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
