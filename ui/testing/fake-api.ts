import type { ErrorGroup, EventBody, EventOverview } from '../../server/dashboard/protocol.js';
import type { Api, RangeCounts } from '../api/api.js';
import type { RequestTrace } from '../api/decode-event.js';
import type { Introspection } from '../api/decode-introspection.js';
import type { WorkflowRuns } from '../api/decode-views.js';
import { statusError } from '../api/fetch-json.js';
import { detailOf, introspectionOf, SERVER_NOW } from './test-data.js';

/** API client with in-memory responses. Tests change its fields between polls. */
export interface FakeApi extends Api {
  events: readonly EventOverview[];
  hub: Partial<Introspection['hub']>;
  workflows: Introspection['workflows'];
  agents: Introspection['agents'];
  health: Introspection['health'];
  /** There are types that show their tags. */
  showsTags: boolean;
  /** Groups of errors. */
  groups: readonly ErrorGroup[];
  releases: NonNullable<Introspection['releases']>;
  /** Counts of every range, by event type. */
  rangeEvents: RangeCounts['events'];
  /** Fields that override those in the details of each event type. */
  details: Partial<EventBody>;
  /** Events of every request. */
  trace: RequestTrace['events'];
  /** Time of the server's clock. */
  serverNow: number;
  /** Fields that override those of the runs of each workflow. */
  reached: Partial<WorkflowRuns>;
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
    showsTags: false,
    groups: [],
    releases: [],
    rangeEvents: [],
    trace: [],
    details: {},
    reached: {},
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
            releases: api.releases,
            ...(api.showsTags && { showsTags: true }),
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
    tagged: async (tag) => {
      api.requests.push(`tag ${tag}`);
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, tag, events: [], isTruncated: false };
    },
    waits: async () => {
      api.requests.push('waits');
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, waits: [], approvals: 0, suspended: 0, isTruncated: false, truncated: [] };
    },
    processes: async () => {
      api.requests.push('processes');
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, processes: [], processCount: 0, registrations: [] };
    },
    errors: async () => {
      api.requests.push('errors');
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, groups: api.groups };
    },
    outlooks: async () => {
      api.requests.push('schedules');
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, schedules: [] };
    },
    agentRuns: async (agent) => {
      api.requests.push(`agent ${agent}`);
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, agent, runs: [] };
    },
    workflowRuns: async (workflow) => {
      api.requests.push(`workflow ${workflow}`);
      if (api.error !== null) throw api.error;
      const runs = api.workflows.find(({ name }) => name === workflow)?.runs ?? [];
      const placed = runs.map((run) => ({ ...run, at: [] }));
      const read = { newest: runs.length, failed: 0, waiting: 0 };
      return { now: api.serverNow, workflow, runs: placed, waiting: [], steps: [], read, ...api.reached };
    },
    runs: async (workflow) => {
      api.requests.push(`runs ${workflow}`);
      if (api.error !== null) throw api.error;
      return { now: api.serverNow, workflow, runs: [] };
    },
  };
  return api;
}
