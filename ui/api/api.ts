import type { EventBody } from '../../server/dashboard/protocol.js';
import { wellFormed } from '../format/well-formed.js';
import type { Introspection } from './decoding/decode-introspection.js';
import type { RequestTrace } from './decoding/decode-request.js';
import { type AgentRuns, agentRuns, type Processes, processes, type Waits, waits } from './decoding/decode-views.js';
import { fetchJson } from './fetch-json.js';
import { parseEvent, parseIntrospection, parseRange, parseRequest, parseView, type RangeCounts } from './parse-body.js';

/** Parsed response of the introspection route. */
export interface IntrospectionResponse {
  readonly introspection: Introspection;
  /** Time of the response in epoch milliseconds on the server's clock, with a resolution of one second. */
  readonly sentAt: number;
}

/** Client of the dashboard's JSON routes. Every call rejects with a {@link RequestError} or the signal's reason. */
export interface Api {
  introspection(signal: AbortSignal): Promise<IntrospectionResponse>;
  /** Returns the counts from `from` to `to`, in epoch milliseconds. */
  range(from: number, to: number, signal: AbortSignal): Promise<RangeCounts>;
  event(type: string, signal: AbortSignal): Promise<EventBody>;
  /** Returns the events and runs of a request. `id` is the id of the request or of any event of it. */
  request(id: string, signal: AbortSignal): Promise<RequestTrace>;
  /** Returns what runs wait for. */
  waits(signal: AbortSignal): Promise<Waits>;
  /** Returns the running hubs. */
  processes(signal: AbortSignal): Promise<Processes>;
  /** Returns the latest recorded runs of an agent. */
  agentRuns(agent: string, signal: AbortSignal): Promise<AgentRuns>;
}

/**
 * Creates a client of the JSON routes.
 *
 * @param base URL of the dashboard with a trailing slash
 */
export function createApi(base: string): Api {
  return {
    introspection: async (signal) => {
      const { body, sentAt } = await fetchJson(`${base}api/introspection?events=columns`, signal);
      return { introspection: parseIntrospection(body), sentAt };
    },
    range: async (from, to, signal) => {
      const { body } = await fetchJson(`${base}api/introspection?from=${from}&to=${to}`, signal);
      return parseRange(body);
    },
    event: async (type, signal) => {
      const { body } = await fetchJson(`${base}api/events/${encodeURIComponent(wellFormed(type))}`, signal);
      return parseEvent(body);
    },
    request: async (id, signal) => {
      const { body } = await fetchJson(
        `${base}api/introspection?request=${encodeURIComponent(wellFormed(id))}`,
        signal,
      );
      return parseRequest(body);
    },
    waits: async (signal) => {
      const { body } = await fetchJson(`${base}api/introspection?view=waits`, signal);
      return parseView(waits, body);
    },
    processes: async (signal) => {
      const { body } = await fetchJson(`${base}api/introspection?view=processes`, signal);
      return parseView(processes, body);
    },
    agentRuns: async (agent, signal) => {
      const query = encodeURIComponent(wellFormed(agent));
      const { body } = await fetchJson(`${base}api/introspection?agent=${query}`, signal);
      return parseView(agentRuns, body);
    },
  };
}
