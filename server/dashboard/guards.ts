import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { InvalidOptionError } from '../errors.js';
import { OptionChecker } from '../options.js';
import { type DashboardResponse, unauthorized } from './response.js';

/** Access rule of a dashboard. Spread it into the options of `createDashboardHandler` or `createDashboardFetch`. */
export interface DashboardGuard {
  /** Takes the same time for every request, whatever it has in common with the right one. */
  authorize: (request: IncomingMessage | Request) => boolean;
  /** Adds `WWW-Authenticate` to the 401, so that a browser asks for the password. */
  onUnauthorized: {
    (req: IncomingMessage, res: ServerResponse): void;
    (request: Request): Response;
  };
}

/**
 * Guards a dashboard with a user name and a password, for which the browser asks. Use it behind HTTPS: the browser sends
 * the password with each request.
 *
 * @example
 * ```ts
 * createDashboardHandler(hub, { ...basicAuth({ user: 'admin', password }) });
 * ```
 * @throws {InvalidOptionError} if `user` is empty or has a colon, or `password` is empty, such as an environment variable
 * that is not set. It never names the password
 */
export function basicAuth(options: { readonly user: string; readonly password: string }): DashboardGuard {
  const check = new OptionChecker(options, ['user', 'password'], 'basicAuth', undefined, 'type');
  const { user, password } = options;
  check.that(isText(user) && !user.includes(':'), 'user', 'a text without a colon, not empty', user);
  check.that(isText(password), 'password', 'a text, not empty', password);
  const credentials = Buffer.from(`${user}:${password}`).toString('base64');
  return guard(`basic ${credentials}`, 'Basic realm="hub", charset="UTF-8"');
}

/**
 * Guards a dashboard with a token in the header `Authorization: Bearer TOKEN`, for clients other than browsers and for
 * proxies that add it.
 *
 * @example
 * ```ts
 * createDashboardFetch(hub, { basePath: '/ops/hub', ...bearer(token) });
 * ```
 * @throws {InvalidOptionError} if `token` is empty or has characters that a header cannot carry. It never names the token
 */
export function bearer(token: string): DashboardGuard {
  if (!isText(token) || !/^[\x21-\x7e]+$/.test(token)) {
    throw new InvalidOptionError('token of bearer', 'visible ASCII characters, one or more', token, 'type');
  }
  return guard(`bearer ${token}`, 'Bearer realm="hub"');
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function guard(expected: string, challenge: string): DashboardGuard {
  const expectedDigest = digest(expected);
  function onUnauthorized(req: IncomingMessage, res: ServerResponse): void;
  function onUnauthorized(request: Request): Response;
  function onUnauthorized(_: IncomingMessage | Request, res?: ServerResponse): Response | undefined {
    if (res === undefined) return challengeResponse(unauthorized, challenge);
    res.setHeader('WWW-Authenticate', challenge);
    return undefined;
  }
  return {
    authorize: (request) => timingSafeEqual(digest(authorizationOf(request)), expectedDigest),
    onUnauthorized,
  };
}

/** Digests have equal length, as `timingSafeEqual` requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Returns the header with its scheme in lower case: schemes are compared without their case (RFC 9110). */
function authorizationOf(request: IncomingMessage | Request): string {
  const value = isFetch(request) ? request.headers.get('authorization') : request.headers.authorization;
  const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/.exec(value ?? '') ?? [];
  return `${scheme.toLowerCase()} ${credentials}`;
}

/** Frameworks have classes of their own for requests. */
function isFetch(request: IncomingMessage | Request): request is Request {
  return typeof request.headers['get'] === 'function';
}

function challengeResponse({ status, headers, body }: DashboardResponse, challenge: string): Response {
  const all = new Headers(headers.map(([name, value]): [string, string] => [name, value]));
  all.set('WWW-Authenticate', challenge);
  return new Response(String(body), { status, headers: all });
}
