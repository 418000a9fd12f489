import { InvalidOptionError } from '../errors.js';
import type { Clock } from '../transports/clock.js';
import type { Logger } from '../transports/transport.js';
import { authorizeTimeout, type DashboardResponse, forbiddenHost, internalError, unauthorized } from './response.js';

/** Time within which `authorize` must settle. */
const authorizeTimeoutMs = 10_000;

/** Rules of a guard for one kind of request. */
export interface AccessRules<TRequest, THandled> {
  readonly isAllowedHost: HostCheck;
  /** Returns the host that the request names. */
  readonly hostOf: (request: TRequest) => string | undefined;
  readonly authorize?: ((request: TRequest) => boolean | Promise<boolean>) | undefined;
  /** Responds to a refused request; `undefined` leaves the response to the guard. */
  readonly onUnauthorized?: ((request: TRequest) => Promise<THandled | undefined>) | undefined;
}

type Refusal<THandled> = DashboardResponse | THandled | undefined;

/** Returns the refusal of a request, what `onUnauthorized` responded, or `undefined` if the request is allowed. */
export type AccessGuard<TRequest, THandled> = (request: TRequest) => Refusal<THandled> | Promise<Refusal<THandled>>;

/** Creates the guard of a dashboard: `allowedHosts`, then `authorize`. */
export function createAccessGuard<TRequest, THandled>(
  { isAllowedHost, hostOf, authorize, onUnauthorized }: AccessRules<TRequest, THandled>,
  logger: Logger,
  clock: Clock,
): AccessGuard<TRequest, THandled> {
  const logRefusal = createRefusalLog(logger, () => clock.monotonic());

  async function check(allows: NonNullable<typeof authorize>, request: TRequest): Promise<Refusal<THandled>> {
    try {
      const answer = await settled(() => allows(request), clock);
      if (answer === true) return undefined;
      if (answer === timedOut) {
        logRefusal(`authorize did not settle within ${authorizeTimeoutMs} ms`);
        return authorizeTimeout;
      }
      logRefusal('authorize did not return true');
      return (await onUnauthorized?.(request)) ?? unauthorized;
    } catch (error) {
      logger.error({ err: error }, 'dashboard: authorize or onUnauthorized failed; the request was denied');
      return internalError;
    }
  }

  return (request) => {
    if (!isAllowedHost(hostOf(request))) {
      logRefusal('the Host header is not in allowedHosts');
      return forbiddenHost;
    }
    return authorize === undefined ? undefined : check(authorize, request);
  };
}

const timedOut = Symbol('timed out');

async function settled(allows: () => boolean | Promise<boolean>, clock: Clock): Promise<unknown> {
  let stop = (): void => {};
  const timeout = new Promise<symbol>((resolve) => {
    const timer = clock.after(authorizeTimeoutMs, () => resolve(timedOut));
    stop = () => timer.cancel();
  });
  try {
    return await Promise.race([allows(), timeout]);
  } finally {
    stop();
  }
}

/** Returns `true` for a `Host` header that the dashboard answers. */
export type HostCheck = (host: string | undefined) => boolean;

// A name, an IPv4 address, or an IPv6 address in brackets, with an optional port.
const hostPattern = /^(?<name>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?<port>\d{1,5}))?$/i;

/**
 * Creates the check of the `Host` header. A host without a port allows every port.
 *
 * @throws {InvalidOptionError}
 */
export function createHostCheck(allowedHosts: unknown): HostCheck {
  if (allowedHosts === undefined) return () => true;
  const valid = Array.isArray(allowedHosts) && allowedHosts.length > 0 && allowedHosts.every(isHost);
  if (!valid) {
    const got = Array.isArray(allowedHosts) ? JSON.stringify(allowedHosts) : allowedHosts;
    throw new InvalidOptionError(
      'allowedHosts',
      'hosts such as ["localhost", "127.0.0.1", "ops.example.com:8443"]',
      got,
    );
  }
  const allowed = new Set(allowedHosts.map((host: string) => host.toLowerCase()));
  return (host) => {
    if (host === undefined) return false;
    const name = hostPattern.exec(host)?.groups?.['name'];
    return name !== undefined && (allowed.has(name.toLowerCase()) || allowed.has(host.toLowerCase()));
  };
}

function isHost(value: unknown): value is string {
  return typeof value === 'string' && hostPattern.test(value);
}

const intervalMs = 60_000;

/**
 * Creates a function that logs refused requests, at most one line per reason and minute: requests of a stranger must not
 * fill the log. Each line has the number of refusals since the previous one.
 *
 * @param now current time in milliseconds from an arbitrary point
 */
function createRefusalLog(logger: Logger, now: () => number): (reason: string) => void {
  const reasons = new Map<string, { loggedAt: number; unlogged: number }>();
  return (reason) => {
    const entry = reasons.get(reason) ?? { loggedAt: Number.NEGATIVE_INFINITY, unlogged: 0 };
    reasons.set(reason, entry);
    entry.unlogged += 1;
    if (now() - entry.loggedAt < intervalMs) return;
    logger.warn({ refused: entry.unlogged }, `dashboard: requests refused: ${reason}`);
    entry.loggedAt = now();
    entry.unlogged = 0;
  };
}
