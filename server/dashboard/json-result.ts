import { HubError } from '../errors.js';
import type { ErrorBody } from './protocol.js';
import type { DashboardResponse, Header } from './response.js';

/** Status and JSON body of the response to a request with a body. */
export interface JsonResult {
  readonly status: number;
  readonly body: object;
  readonly headers?: readonly Header[];
}

/** Returns the result of a refused or failed request. */
export function failedResult(status: number, code: string, message: string): JsonResult {
  const body: ErrorBody = { error: { code, message } };
  return { status, body };
}

const commonHeaders: readonly Header[] = [
  ['Content-Type', 'application/json; charset=utf-8'],
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Referrer-Policy', 'no-referrer'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Robots-Tag', 'noindex'],
];

/** Returns a result as a response, which nobody may store or embed. */
export function jsonResponse({ status, body, headers = [] }: JsonResult): DashboardResponse {
  return { status, headers: [...commonHeaders, ...headers], body: JSON.stringify(body) };
}

/** Status of each error of the hub that a response may name. */
const statuses: ReadonlyMap<string, number> = new Map([
  ['ERR_INVALID_OPTION', 400],
  ['ERR_UNKNOWN_DEAD_LETTER', 404],
  ['ERR_UNKNOWN_EVENT', 404],
  ['ERR_UNKNOWN_EVENT_ID', 404],
  ['ERR_UNKNOWN_RUN', 404],
  ['ERR_UNKNOWN_STEP', 404],
  ['ERR_UNKNOWN_TARGET', 404],
  ['ERR_UNKNOWN_WORKFLOW', 404],
  ['ERR_NO_APPROVAL', 404],
  ['ERR_NOT_SUBSCRIBED', 409],
  ['ERR_RUN_NOT_ENDED', 409],
  ['ERR_SERVICE_RUNNING', 409],
  ['ERR_PENDING_EVENTS', 409],
  ['ERR_ACTION_RUNNING', 409],
  ['ERR_ACTION_ID_REUSED', 409],
  ['ERR_PAYLOAD_TOO_LARGE', 413],
  ['ERR_INVALID_KEY', 422],
  ['ERR_INVALID_TAGS', 422],
  ['ERR_PAYLOAD_NOT_JSON', 422],
  ['ERR_SCHEMA_VALIDATION', 422],
  ['ERR_BACKPRESSURE', 503],
  ['ERR_TRANSPORT_UNAVAILABLE', 503],
  ['ERR_HUB_NOT_STARTED', 503],
  ['ERR_HUB_STOPPED', 503],
]);

/** The request is not one that the handler understands. */
export class InvalidRequestError extends HubError {
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(code, message);
    this.status = status;
  }
}

/** Returns the response to an error of the hub; `undefined` for one that the response must not name. */
export function errorResult(error: unknown): JsonResult | undefined {
  if (!HubError.is(error)) return undefined;
  const status = error instanceof InvalidRequestError ? error.status : statuses.get(error.code);
  return status === undefined ? undefined : failedResult(status, error.code, error.publicMessage);
}
