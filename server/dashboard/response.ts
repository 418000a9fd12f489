import { InvalidOptionError } from '../errors.js';
import { scriptHashes, styleHashes } from './html.generated.js';
import type { ErrorBody } from './protocol.js';

/** The parts of a request that routing needs. */
export interface DashboardRequest {
  readonly method: string | undefined;
  /** Request targets, best first. The router uses the first one below the base path. */
  readonly targets: readonly string[];
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** Name and value of a header. */
export type Header = readonly [name: string, value: string];

/** Response of the dashboard, without the headers that every response has. */
export interface DashboardResponse {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body?: string | Buffer;
}

export const notFound: DashboardResponse = errorResponse(404, 'ERR_NOT_FOUND', 'Nothing is served at this path.');

export const invalidRange: DashboardResponse = errorResponse(
  400,
  'ERR_INVALID_RANGE',
  'A range needs from and to in epoch milliseconds, from before to.',
);

export const methodNotAllowed: DashboardResponse = errorResponse(405, 'ERR_METHOD_NOT_ALLOWED', 'Only GET is served.', [
  ['Allow', 'GET'],
]);

export const unauthorized: DashboardResponse = errorResponse(
  401,
  'ERR_UNAUTHORIZED',
  'Access to this dashboard is denied.',
);

export const forbiddenHost: DashboardResponse = errorResponse(
  403,
  'ERR_FORBIDDEN_HOST',
  'This dashboard does not answer requests for this host.',
);

export const authorizeTimeout: DashboardResponse = errorResponse(
  503,
  'ERR_AUTHORIZE_TIMEOUT',
  'The access check did not answer in time. Retry later.',
);

export const internalError: DashboardResponse = errorResponse(
  500,
  'ERR_INTERNAL',
  'The dashboard failed to respond. The cause is in the log of the hub.',
);

const readFailures = new Map([
  ['ERR_INVALID_OPTION', errorResponse(400, 'ERR_INVALID_OPTION', 'A value of the query is not valid.')],
  [
    'ERR_UNKNOWN_EVENT',
    errorResponse(404, 'ERR_UNKNOWN_EVENT', 'No event type with this name is registered on the hub.'),
  ],
  ['ERR_UNKNOWN_EVENT_ID', errorResponse(404, 'ERR_UNKNOWN_EVENT_ID', 'No event or run with this id is retained.')],
  [
    'ERR_UNKNOWN_REQUEST_ID',
    errorResponse(404, 'ERR_UNKNOWN_REQUEST_ID', 'Nothing of a request with this id is retained.'),
  ],
  [
    'ERR_TOO_MANY_LOOKUPS',
    errorResponse(429, 'ERR_TOO_MANY_LOOKUPS', 'Too many lookups at once. Retry later.', [['Retry-After', '1']]),
  ],
  [
    'ERR_TRANSPORT_UNAVAILABLE',
    errorResponse(503, 'ERR_UNAVAILABLE', 'The hub cannot be read at the moment. Retry later.'),
  ],
]);

/** Returns the response to an error of the hub with this code; `internalError` to any other. */
export function readFailureResponse(code: string | undefined): DashboardResponse {
  return readFailures.get(code ?? '') ?? internalError;
}

function errorResponse(
  status: number,
  code: string,
  message: string,
  headers: readonly Header[] = [],
): DashboardResponse {
  const body: ErrorBody = { error: { code, message } };
  return {
    status,
    headers: [['Content-Type', 'application/json; charset=utf-8'], ...headers],
    body: JSON.stringify(body),
  };
}

/**
 * CSP sources, such as `'sha256-…'`, of the page's inline script and style. An application that serves
 * `getDashboardHtml()` itself adds them to its own policy.
 */
export const dashboardCspHashes: { readonly script: readonly string[]; readonly style: readonly string[] } = {
  script: scriptHashes,
  style: styleHashes,
};

/** Returns the headers that every response has. @param isPrivate keeps responses out of shared caches */
export function commonHeaders(frameAncestors: readonly string[], isPrivate: boolean): readonly Header[] {
  const policy = [
    "default-src 'none'",
    `script-src ${dashboardCspHashes.script.join(' ')}`,
    `style-src ${dashboardCspHashes.style.join(' ')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    // The page creates no markup from text, so it needs no policy that may.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${frameAncestors.join(' ')}`,
  ];
  return [
    ['Cache-Control', isPrivate ? 'private, no-cache' : 'no-cache'],
    ['Content-Security-Policy', policy.join('; ')],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Referrer-Policy', 'no-referrer'],
    ['X-Content-Type-Options', 'nosniff'],
    ['X-Robots-Tag', 'noindex'],
  ];
}

// Printable ASCII without `,` and `;`, which would end the header or the directive.
const cspSource = /^[!-+\--:<-~]+$/;

/**
 * Returns a copy of the sources.
 *
 * @throws {InvalidOptionError} if a source is not valid in the header
 */
export function checkFrameAncestors(sources: unknown): readonly string[] {
  const valid =
    Array.isArray(sources) &&
    sources.length > 0 &&
    sources.every((source): source is string => typeof source === 'string' && cspSource.test(source));
  if (!valid) {
    const got = Array.isArray(sources) ? JSON.stringify(sources) : sources;
    throw new InvalidOptionError(
      'frameAncestors',
      `CSP sources such as ["'self'", "https://admin.example.com"], each without spaces, ";" or ","`,
      got,
    );
  }
  return [...sources];
}
