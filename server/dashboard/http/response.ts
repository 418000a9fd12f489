import type { ErrorBody } from '../protocol.js';

/** What routing reads of a request. */
export interface DashboardRequest {
  readonly method: string | undefined;
  /** Request targets to try in turn: the first one below the base path counts. */
  readonly targets: readonly string[];
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** A header's name and value. */
export type Header = readonly [name: string, value: string];

/** What is sent, apart from the headers that every answer has. */
export interface Answer {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body?: string | Buffer;
}

export const notFound: Answer = errorAnswer(404, 'ERR_NOT_FOUND', 'There is nothing at this path.');

export const unknownEvent: Answer = errorAnswer(
  404,
  'ERR_UNKNOWN_EVENT',
  'No event type of this name is registered on the hub.',
);

export const methodNotAllowed: Answer = errorAnswer(405, 'ERR_METHOD_NOT_ALLOWED', 'Only GET is served.', [
  ['Allow', 'GET'],
]);

export const unauthorized: Answer = errorAnswer(401, 'ERR_UNAUTHORIZED', 'Access to this dashboard was refused.');

export const internalError: Answer = errorAnswer(
  500,
  'ERR_INTERNAL',
  'The dashboard could not answer; the log of the hub has the cause.',
);

export const unavailable: Answer = errorAnswer(
  503,
  'ERR_UNAVAILABLE',
  'The hub cannot be read at the moment; try again later.',
);

function errorAnswer(status: number, code: string, message: string, headers: readonly Header[] = []): Answer {
  const body: ErrorBody = { error: { code, message } };
  return {
    status,
    headers: [['Content-Type', 'application/json; charset=utf-8'], ...headers],
    body: JSON.stringify(body),
  };
}
