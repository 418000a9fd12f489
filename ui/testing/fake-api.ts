import type { EventBody, EventOverview } from '../../server/dashboard/protocol.js';
import type { Api, RangeCounts } from '../api/api.js';
import type { RequestTrace } from '../api/decode-event.js';
import type { Introspection } from '../api/decode-introspection.js';
import { statusError } from '../api/fetch-json.js';
import { detailOf, introspectionOf, SERVER_NOW } from './test-data.js';

/** API client with in-memory responses. Tests change its fields between polls. */
export interface FakeApi extends Api {
  events: readonly EventOverview[];
  hub: Partial<Introspection['hub']>;
  workflows: Introspection['workflows'];
  agents: Introspection['agents'];
  health: Introspection['health'];
  /** Counts of every range, by event type. */
  rangeEvents: RangeCounts['events'];
  /** Fields that override those in the details of each event type. */
  details: Partial<EventBody>;
  /** Events of every request. */
  trace: RequestTrace['events'];
  /** Time of the server's clock. */
  serverNow: number;
  /** Error with which every request rejects. */
  error: Error | null;
  /** Requests so far: "introspection", "range" with its ends, or the event type. */
  readonly requests: string[];
}

export function createFakeApi(events: readonly EventOverview[] = []): FakeApi {
  const api: FakeApi = {
    events,
    hub: {},
    workflows: [],
    agents: [],
    health: { status: 'ok', problems: [], problemCount: 0 },
    rangeEvents: [],
    trace: [],
    details: {},
    error: null,
    serverNow: SERVER_NOW,
    requests: [],
    introspection: async () => {
      api.requests.push('introspection');
      if (api.error !== null) throw api.error;
      return {
        introspection: introspectionOf(
          api.events,
          { now: api.serverNow, ...api.hub },
          {
            workflows: api.workflows,
            agents: api.agents,
            health: api.health,
          },
        ),
        sentAt: api.serverNow,
      };
    },
    range: async (from, to) => {
      api.requests.push(`range ${from} ${to}`);
      if (api.error !== null) throw api.error;
      return { from, to, stepMs: 60_000, events: api.rangeEvents };
    },
    event: async (type) => {
      api.requests.push(type);
      if (api.error !== null) throw api.error;
      const event = api.events.find((known) => known.type === type);
      if (event === undefined) throw statusError(404, type, undefined);
      return detailOf(type, event.metrics, api.details);
    },
    request: async (id) => {
      api.requests.push(`request ${id}`);
      if (api.error !== null) throw api.error;
      if (api.trace.length === 0) throw statusError(404, id, undefined);
      return {
        now: api.serverNow,
        requestId: api.trace[0]?.requestId ?? id,
        events: api.trace,
        isTruncated: false,
        missingCauses: 0,
      };
    },
    waits: async () => {
      api.requests.push('waits');
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, waits: [], approvals: 0, suspended: 0, isTruncated: false };
    },
    processes: async () => {
      api.requests.push('processes');
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, processes: [], processCount: 0, registrations: [] };
    },
    agentRuns: async (agent) => {
      api.requests.push(`agent ${agent}`);
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, agent, runs: [] };
    },
  };
  return api;
}
