import type { IntrospectionBody, RangeBody, RunIntrospection } from '../../server/dashboard/protocol.js';
import { type EventDetail, eventDetail, type RequestTrace, requestTrace } from './decode-event.js';
import { type Introspection, introspection } from './decode-introspection.js';
import { periodCounts } from './decode-statistics.js';
import {
  type AgentRuns,
  agentRuns,
  type Errors,
  errors,
  type Outlooks,
  outlooks,
  type Processes,
  processes,
  type RunList,
  runList,
  type TaggedEvents,
  taggedEvents,
  type Waits,
  type WorkflowRuns,
  waits,
  workflowRuns,
} from './decode-views.js';
import { array, type Decoder, decodeBody, number, object, record, string } from './decoder.js';
import { fetchJson, RequestError } from './fetch-json.js';

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
  event(type: string, signal: AbortSignal): Promise<EventDetail>;
  /** Returns the events and runs of a request. `id` is the id of the request or of any event of it. */
  request(id: string, signal: AbortSignal): Promise<RequestTrace>;
  /** Returns the events and runs with a tag, of types that show their tags. */
  tagged(tag: string, signal: AbortSignal): Promise<TaggedEvents>;
  /** Returns what runs wait for. */
  waits(signal: AbortSignal): Promise<Waits>;
  /** Returns the running hubs. */
  processes(signal: AbortSignal): Promise<Processes>;
  /** Returns the errors of all event types and workflows as groups. */
  errors(signal: AbortSignal): Promise<Errors>;
  /** Returns the due times of schedules in the next 12 hours, and the outcomes of the last ones. */
  outlooks(signal: AbortSignal): Promise<Outlooks>;
  /** Returns the latest recorded runs of an agent. */
  agentRuns(agent: string, signal: AbortSignal): Promise<AgentRuns>;
  /** Returns the recent runs of a workflow, and the graph of their steps. */
  workflowRuns(workflow: string, signal: AbortSignal): Promise<WorkflowRuns>;
  /** Returns a page of all retained runs of a workflow. */
  runs(workflow: string, query: RunQuery, signal: AbortSignal): Promise<RunList>;
}

/** Runs to list. */
export interface RunQuery {
  /** Status of the runs; all if empty. */
  readonly status: readonly RunIntrospection['status'][];
  /** Time of acceptance in epoch milliseconds: `from` is included, `to` is not. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** `after` of the page before. */
  readonly after?: string | undefined;
}

/**
 * Creates a client of the JSON routes.
 *
 * @param base URL of the dashboard with a trailing slash
 */
export function createApi(base: string): Api {
  const read = async <T>(query: URLSearchParams | string, decode: Decoder<T>, signal: AbortSignal): Promise<T> => {
    const { body } = await fetchJson(`${base}api/introspection?${query}`, signal);
    return parseBody(decode, body);
  };
  const named = (name: string, value: string): string => `${name}=${encodeURIComponent(wellFormed(value))}`;
  return {
    introspection: async (signal) => {
      const { body, sentAt } = await fetchJson(`${base}api/introspection?events=columns`, signal);
      return { introspection: parseBody(introspection, body), sentAt };
    },
    event: async (type, signal) => {
      const { body } = await fetchJson(`${base}api/events/${encodeURIComponent(wellFormed(type))}`, signal);
      return decodeBody(eventDetail, body);
    },
    range: (from, to, signal) => read(`from=${from}&to=${to}`, rangeCounts, signal),
    request: (id, signal) => read(named('request', id), requestTrace, signal),
    tagged: (tag, signal) => read(named('tag', tag), taggedEvents, signal),
    waits: (signal) => read('view=waits', waits, signal),
    processes: (signal) => read('view=processes', processes, signal),
    errors: (signal) => read('view=errors', errors, signal),
    outlooks: (signal) => read('view=schedules', outlooks, signal),
    agentRuns: (agent, signal) => read(named('agent', agent), agentRuns, signal),
    workflowRuns: (workflow, signal) => read(named('workflow', workflow), workflowRuns, signal),
    runs: (workflow, { status, from, to, after }, signal) => {
      const query = new URLSearchParams({ runs: wellFormed(workflow) });
      if (status.length > 0) query.set('status', status.join());
      for (const [name, value] of Object.entries({ from, to, after })) {
        if (value !== undefined) query.set(name, String(value));
      }
      return read(query, runList, signal);
    },
  };
}

/** Protocol version that this page reads. */
const PROTOCOL: IntrospectionBody['protocol'] = 2;

/** Counts of a range, by event type. */
export type RangeCounts = Omit<RangeBody, 'protocol' | 'stepMs'>;

export const rangeCounts: Decoder<RangeCounts> = object<RangeCounts>({
  from: number,
  to: number,
  events: array(object<RangeCounts['events'][number]>({ type: string, counts: periodCounts })),
});

/**
 * Parses a body of `GET /api/introspection`.
 *
 * @throws {RequestError} if the protocol or the shape is not the expected one
 */
export function parseBody<T>(decode: Decoder<T>, body: unknown): T {
  checkProtocol(body);
  return decodeBody(decode, body);
}

function checkProtocol(body: unknown): void {
  const { protocol } = decodeBody(record, body);
  if (protocol === PROTOCOL) return;
  const served = typeof protocol === 'number' ? `protocol ${protocol}` : 'an unknown protocol';
  throw new RequestError(
    `This page reads protocol ${PROTOCOL}, but the server sends ${served}. Reload the page to get a matching version.`,
  );
}

/**
 * Returns the URL at which the dashboard is mounted, with a trailing slash. The JSON routes are relative to it at any
 * mount path and behind a proxy that strips a prefix.
 */
export function baseUrl(location: Pick<Location, 'origin' | 'pathname'>): string {
  return location.origin + location.pathname.replace(/\/*$/, '/');
}

/** Replaces lone surrogates, for which `encodeURIComponent` throws. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}
