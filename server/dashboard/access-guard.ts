import { errorInfo, InvalidOptionError } from '../errors.js';
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
  const limited = createLimitedLog(() => clock.monotonic());
  const logRefusal = (reason: string): void =>
    limited(reason, (refused) => logger.warn({ refused }, `dashboard: requests refused: ${reason}`));

  async function check(allows: NonNullable<typeof authorize>, request: TRequest): Promise<Refusal<THandled>> {
    try {
      const answer = await settleWithin(() => allows(request), clock);
      if (answer === true) return undefined;
      if (answer === timedOut) {
        logRefusal(`authorize did not settle within ${authorizeTimeoutMs} ms`);
        return authorizeTimeout;
      }
      logRefusal('authorize did not return true');
      return (await onUnauthorized?.(request)) ?? unauthorized;
    } catch (error) {
      limited(`thrown: ${reasonOf(error)}`, (refused) =>
        logger.error({ err: error, refused }, 'dashboard: authorize or onUnauthorized failed; the request was denied'),
      );
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

/** Result of {@link settleWithin} if nothing was settled in time. */
export const timedOut: unique symbol = Symbol('timed out');

/** Calls `authorize`, which must settle within 10 seconds. */
export async function settleWithin<T>(allows: () => T | Promise<T>, clock: Clock): Promise<T | typeof timedOut> {
  let stop = (): void => {};
  const timeout = new Promise<typeof timedOut>((resolve) => {
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
/** Reasons are few: names of error classes. Beyond this number they share one line. */
const maxReasons = 100;

/** Calls `write` with the number of calls for `reason` since the last one that was written, or does nothing. */
export type LimitedLog = (reason: string, write: (count: number) => void) => void;

/**
 * Creates a log of at most one line per reason and minute: requests of a stranger, and pages that poll while a server is
 * down, must not fill the log.
 *
 * @param now current time in milliseconds from an arbitrary point
 */
export function createLimitedLog(now: () => number): LimitedLog {
  const reasons = new Map<string, { loggedAt: number; unlogged: number }>();
  return (reason, write) => {
    const key = reasons.has(reason) || reasons.size < maxReasons ? reason : '';
    const entry = reasons.get(key) ?? { loggedAt: Number.NEGATIVE_INFINITY, unlogged: 0 };
    reasons.set(key, entry);
    entry.unlogged += 1;
    if (now() - entry.loggedAt < intervalMs) return;
    entry.loggedAt = now();
    const count = entry.unlogged;
    entry.unlogged = 0;
    write(count);
  };
}

/** Returns the reason of a thrown value, for {@link createLimitedLog}: its code, or else its name. */
export function reasonOf(thrown: unknown): string {
  const { name, code } = errorInfo(thrown);
  return code ?? name;
}
