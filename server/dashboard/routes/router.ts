import { HubError } from '../../errors.js';
import type { Hub } from '../../hub/hub.js';
import type { RunListQuery } from '../../hub/introspection/run-list.js';
import { rangePeriods, rangeTimes } from '../../transports/statistics/periods.js';
import type { RangeBody, RunIntrospection } from '../protocol.js';
import { decodeName, pathBelow } from '../request.js';
import {
  type DashboardRequest,
  type DashboardResponse,
  invalidRange,
  methodNotAllowed,
  notFound,
  readFailureResponse,
} from '../response.js';
import { createJsonResponder, type JsonSource } from './json-responder.js';
import { pageResponse } from './page.js';
import {
  readAgentRunsBody,
  readColumnsBody,
  readErrorsBody,
  readEventBody,
  readEventDetailsBody,
  readIntrospectionBody,
  readProcessesBody,
  readRequestBody,
  readRunListBody,
  readSchedulesBody,
  readTaggedBody,
  readWaitsBody,
  readWorkflowRunsBody,
} from './read-bodies.js';

/** Responds to a request. It never throws and never rejects. */
export type Router = (request: DashboardRequest) => DashboardResponse | Promise<DashboardResponse>;

/** Options of `createRouter`. */
export interface RouterOptions {
  /** Normalized. */
  readonly basePath: string;
  /** Path of the actions handler. */
  readonly actions?: string | undefined;
  /** Called with an error of the hub, which the response does not reveal. Must not throw. */
  readonly onFailure: (error: unknown) => void;
}

/** Time between two reports of a process. */
const reportMs = 5_000;

interface Route {
  readonly path: string;
  /** True if the route matches every path that starts with `path`. */
  readonly matchesPrefix: boolean;
  respond(request: DashboardRequest, rest: string): DashboardResponse | Promise<DashboardResponse>;
}

/** Creates the router to the page and to the JSON that is read from `hub`. */
export function createRouter(hub: Hub, { basePath, actions, onFailure }: RouterOptions): Router {
  const respondWithJson = createJsonResponder(() => hub.transport.clock.monotonic());

  const reportRevision = async (type?: string): Promise<string> =>
    `${await hub.revision(type)}.${Math.floor(hub.transport.clock.now() / reportMs)}`;
  const introspection: JsonSource = {
    key: 'introspection',
    revision: () => hub.revision(),
    read: () => readIntrospectionBody(hub, actions),
  };
  const columns: JsonSource = {
    key: 'introspection columns',
    revision: () => hub.revision(),
    read: () => readColumnsBody(hub, actions),
  };
  const range = (from: number, to: number): JsonSource => ({
    key: `range ${from} ${to}`,
    isLookup: true,
    revision: () => hub.revision(),
    read: async (): Promise<RangeBody> => ({ protocol: 2, ...(await hub.getRange(from, to)) }),
  });
  const details = (id: string, type?: string): JsonSource => ({
    key: `details ${JSON.stringify([id, type])}`,
    isLookup: true,
    // Blockers change without an event.
    revision: () => reportRevision(type),
    read: () => readEventDetailsBody(hub, id, type),
  });
  const request = (id: string): JsonSource => ({
    key: `request ${id}`,
    isLookup: true,
    // Progress changes without an event.
    revision: () => reportRevision(),
    read: () => readRequestBody(hub, id),
  });
  const waits: JsonSource = { key: 'waits', revision: () => hub.revision(), read: () => readWaitsBody(hub) };
  const processes: JsonSource = {
    key: 'processes',
    // Reports of processes about themselves change without an event.
    revision: () => reportRevision(),
    read: () => readProcessesBody(hub),
  };
  const errors: JsonSource = {
    key: 'errors',
    // Processes store their groups up to a second after the failure.
    revision: () => reportRevision(),
    read: () => readErrorsBody(hub),
  };
  const schedules: JsonSource = {
    key: 'schedules',
    revision: () => hub.revision(),
    read: () => readSchedulesBody(hub),
  };
  const agentRuns = (agent: string): JsonSource => ({
    key: `agent ${agent}`,
    isLookup: true,
    revision: () => hub.revision(),
    read: () => readAgentRunsBody(hub, agent),
  });
  const tagged = (tag: string): JsonSource => ({
    key: `tag ${tag}`,
    isLookup: true,
    revision: () => hub.revision(),
    read: () => readTaggedBody(hub, tag),
  });
  const workflowRuns = (workflow: string): JsonSource => ({
    key: `workflow ${workflow}`,
    isLookup: true,
    revision: () => hub.revision(),
    read: () => readWorkflowRunsBody(hub, workflow),
  });
  const runList = (workflow: string, query: RunListQuery): JsonSource => ({
    key: `runs ${JSON.stringify([workflow, query])}`,
    isLookup: true,
    revision: () => hub.revision(),
    read: () => readRunListBody(hub, workflow, query),
  });
  const event = (type: string): JsonSource => ({
    key: `event ${type}`,
    revision: () => hub.revision(type),
    read: () => readEventBody(hub, type),
  });

  const views = new Map([waits, processes, schedules, errors].map((source) => [source.key, source]));

  const routes: readonly Route[] = [
    { path: '/', matchesPrefix: false, respond: pageResponse },
    {
      path: '/api/introspection',
      matchesPrefix: false,
      respond(request) {
        const source = introspectionSource(queryOf(request));
        if (source === undefined) return notFound;
        return source === null ? invalidRange : respondWithJson(request, source).catch(failureResponse);
      },
    },
    {
      path: '/api/events/',
      matchesPrefix: true,
      respond(request, rest) {
        const type = decodeName(rest);
        if (type === undefined) return notFound;
        const id = queryOf(request).get('id');
        return respondWithJson(request, id === null ? event(type) : details(id, type)).catch(failureResponse);
      },
    },
  ];

  /** Returns the source that a query asks for; `null` if its range is not valid, `undefined` for an unknown view. */
  function introspectionSource(query: URLSearchParams): JsonSource | null | undefined {
    if (query === noQuery) return introspection;
    const [id, requestId] = [query.get('id'), query.get('request')];
    if (id !== null) return details(id);
    if (requestId !== null) return request(requestId);
    const [agent, workflow, view] = [query.get('agent'), query.get('workflow'), query.get('view')];
    const tag = query.get('tag');
    if (tag !== null) return tagged(tag);
    if (agent !== null) return agentRuns(agent);
    if (workflow !== null) return workflowRuns(workflow);
    const runs = query.get('runs');
    if (runs !== null) return runList(runs, runListQuery(query));
    if (view !== null) return views.get(view);
    if (!query.has('from') && !query.has('to')) {
      return query.get('events') === 'columns' ? columns : introspection;
    }
    const [from, to] = [readTime(query.get('from')), readTime(query.get('to'))];
    if (from === undefined || to === undefined || from >= to) return null;
    // Ranges that the same periods cover have one body.
    const widened = rangeTimes(rangePeriods(from, to, hub.transport.clock.now()));
    return range(widened.from, widened.to);
  }

  function failureResponse(error: unknown): DashboardResponse {
    const response = readFailureResponse(HubError.is(error) ? error.code : undefined);
    if (response.status >= 500) onFailure(error);
    return response;
  }

  return (request) => {
    if (request.method !== 'GET') return methodNotAllowed;
    const path = request.targets.map((target) => pathBelow(basePath, target)).find((below) => below !== undefined);
    if (path === undefined) return notFound;
    const route = routes.find((candidate) =>
      candidate.matchesPrefix ? path.startsWith(candidate.path) : path === candidate.path,
    );
    return route === undefined ? notFound : route.respond(request, path.slice(route.path.length));
  };
}

/** Returns what a query asks for; the hub checks the values. */
function runListQuery(query: URLSearchParams): RunListQuery {
  const [status, after] = [query.get('status'), query.get('after')];
  const [from, to] = [readTime(query.get('from')), readTime(query.get('to'))];
  return {
    // The hub refuses others.
    ...(status !== null && { status: status.split(',') as RunIntrospection['status'][] }),
    ...(after !== null && { after }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

const noQuery = new URLSearchParams();

function queryOf({ targets: [target = ''] }: DashboardRequest): URLSearchParams {
  const start = target.indexOf('?');
  return start === -1 ? noQuery : new URLSearchParams(target.slice(start));
}

/** Reads epoch milliseconds; `undefined` if the text is anything else. */
function readTime(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
