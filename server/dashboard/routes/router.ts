import { HubError } from '../../errors.js';
import type { Hub } from '../../hub/hub.js';
import { rangePeriods, rangeTimes } from '../../transports/statistics/periods.js';
import type { RangeBody } from '../protocol.js';
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
  readEventBody,
  readEventDetailsBody,
  readIntrospectionBody,
  readProcessesBody,
  readRequestBody,
  readWaitsBody,
} from './read-bodies.js';

/** Responds to a request. It never throws and never rejects. */
export type Router = (request: DashboardRequest) => DashboardResponse | Promise<DashboardResponse>;

/** Options of `createRouter`. */
export interface RouterOptions {
  /** Normalized. */
  readonly basePath: string;
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
export function createRouter(hub: Hub, { basePath, onFailure }: RouterOptions): Router {
  const respondWithJson = createJsonResponder(() => hub.transport.clock.monotonic());

  const introspection: JsonSource = {
    key: 'introspection',
    revision: () => hub.revision(),
    read: () => readIntrospectionBody(hub),
  };
  const columns: JsonSource = {
    key: 'introspection columns',
    revision: () => hub.revision(),
    read: () => readColumnsBody(hub),
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
    revision: () => hub.revision(type),
    read: () => readEventDetailsBody(hub, id, type),
  });
  const request = (id: string): JsonSource => ({
    key: `request ${id}`,
    isLookup: true,
    revision: () => hub.revision(),
    read: () => readRequestBody(hub, id),
  });
  const waits: JsonSource = { key: 'waits', revision: () => hub.revision(), read: () => readWaitsBody(hub) };
  const processes: JsonSource = {
    key: 'processes',
    // Reports of processes about themselves change without an event.
    revision: async () => `${await hub.revision()}.${Math.floor(hub.transport.clock.now() / reportMs)}`,
    read: () => readProcessesBody(hub),
  };
  const agentRuns = (agent: string): JsonSource => ({
    key: `agent ${agent}`,
    isLookup: true,
    revision: () => hub.revision(),
    read: () => readAgentRunsBody(hub, agent),
  });
  const event = (type: string): JsonSource => ({
    key: `event ${type}`,
    revision: () => hub.revision(type),
    read: () => readEventBody(hub, type),
  });

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
    const [agent, view] = [query.get('agent'), query.get('view')];
    if (agent !== null) return agentRuns(agent);
    if (view !== null) return view === 'waits' ? waits : view === 'processes' ? processes : undefined;
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

const noQuery = new URLSearchParams();

function queryOf({ targets: [target = ''] }: DashboardRequest): URLSearchParams {
  const start = target.indexOf('?');
  return start === -1 ? noQuery : new URLSearchParams(target.slice(start));
}

/** Reads epoch milliseconds; `undefined` if the text is anything else. */
function readTime(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
