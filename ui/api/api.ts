import type { EventBody } from '../../server/dashboard/protocol.js';
import { wellFormed } from '../format/well-formed.js';
import { fetchJson } from './fetch-json.js';
import { type Introspection, parseEvent, parseIntrospection } from './parse-body.js';

/** What the introspection route answered, and when. */
export interface Answer {
  readonly introspection: Introspection;
  /** Epoch milliseconds on the server's clock, to the second. */
  readonly sentAt: number;
}

/** The dashboard's two JSON routes. Every call rejects with a {@link RequestError}, or with the signal's reason. */
export interface Api {
  introspection(signal: AbortSignal): Promise<Answer>;
  event(type: string, signal: AbortSignal): Promise<EventBody>;
}

/** @param base URL of the dashboard with a trailing slash */
export function createApi(base: string): Api {
  return {
    introspection: async (signal) => {
      const { body, sentAt } = await fetchJson(`${base}api/introspection`, signal);
      return { introspection: parseIntrospection(body), sentAt };
    },
    event: async (type, signal) => {
      const { body } = await fetchJson(`${base}api/events/${encodeURIComponent(wellFormed(type))}`, signal);
      return parseEvent(body);
    },
  };
}
