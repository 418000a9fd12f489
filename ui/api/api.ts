import type { EventBody } from '../../server/dashboard/protocol.js';
import { wellFormed } from '../format/well-formed.js';
import { fetchJson } from './fetch-json.js';
import { type Introspection, parseEvent, parseIntrospection } from './protocol.js';

/** The dashboard's two JSON routes. Every call rejects with a {@link RequestError}, or with the signal's reason. */
export interface Api {
  introspection(signal: AbortSignal): Promise<Introspection>;
  event(type: string, signal: AbortSignal): Promise<EventBody>;
}

/** @param base URL of the dashboard with a trailing slash */
export function createApi(base: string): Api {
  return {
    introspection: async (signal) => parseIntrospection(await fetchJson(`${base}api/introspection`, signal)),
    event: async (type, signal) =>
      parseEvent(await fetchJson(`${base}api/events/${encodeURIComponent(wellFormed(type))}`, signal)),
  };
}
