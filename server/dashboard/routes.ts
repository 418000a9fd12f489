import { HubError } from '../errors.js';
import type { Hub } from '../hub/hub.js';
import {
  type Answer,
  type DashboardRequest,
  internalError,
  methodNotAllowed,
  notFound,
  unavailable,
  unknownEvent,
} from './answer.js';
import type { DashboardOptions } from './dashboard-options.js';
import { readEventBody } from './event-body.js';
import { readIntrospectionBody } from './introspection-body.js';
import { createJsonAnswers, type JsonSource } from './json-answers.js';
import { pageAnswer } from './page.js';
import { decodeName, pathBelow } from './paths.js';

/** Answers a request; never throws and never rejects. */
export type Router = (request: DashboardRequest) => Answer | Promise<Answer>;

/** What a router needs beside the hub. */
export interface RouterOptions {
  /** Normalised. */
  readonly basePath: string;
  readonly redactError: DashboardOptions['redactError'];
  /** Gets what kept the hub from being read, which the answer does not tell. Must not throw. */
  readonly onFailure: (error: unknown) => void;
}

interface Route {
  readonly path: string;
  /** Whether all that follows `path` belongs to the route. */
  readonly takesRest: boolean;
  answer(request: DashboardRequest, rest: string): Answer | Promise<Answer>;
}

/** Routes to the page and to the JSON that is read from `hub`. */
export function createRouter(hub: Hub, { basePath, redactError, onFailure }: RouterOptions): Router {
  const jsonAnswer = createJsonAnswers();

  const introspection: JsonSource = {
    key: 'introspection',
    revision: () => hub.revision(),
    read: () => readIntrospectionBody(hub, redactError),
  };
  const event = (type: string): JsonSource => ({
    key: `event ${type}`,
    revision: () => hub.revision(type),
    read: () => readEventBody(hub, type, redactError),
  });

  const routes: readonly Route[] = [
    { path: '/', takesRest: false, answer: pageAnswer },
    {
      path: '/api/introspection',
      takesRest: false,
      answer: (request) => jsonAnswer(request, introspection).catch(failureAnswer),
    },
    {
      path: '/api/events/',
      takesRest: true,
      answer(request, rest) {
        const type = decodeName(rest);
        return type === undefined ? notFound : jsonAnswer(request, event(type)).catch(failureAnswer);
      },
    },
  ];

  function failureAnswer(error: unknown): Answer {
    const code = HubError.is(error) ? error.code : undefined;
    if (code === 'ERR_UNKNOWN_EVENT') return unknownEvent;
    onFailure(error);
    return code === 'ERR_TRANSPORT_UNAVAILABLE' ? unavailable : internalError;
  }

  return (request) => {
    if (request.method !== 'GET') return methodNotAllowed;
    const path = request.targets.map((target) => pathBelow(basePath, target)).find((below) => below !== undefined);
    if (path === undefined) return notFound;
    const route = routes.find((one) => (one.takesRest ? path.startsWith(one.path) : path === one.path));
    return route === undefined ? notFound : route.answer(request, path.slice(route.path.length));
  };
}
