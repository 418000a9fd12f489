import type { Clock } from '../transports/clock.js';
import type { Logger } from '../transports/logger.js';
import type { HostCheck } from './http/allowed-hosts.js';
import { createRefusalLog } from './http/refusal-log.js';
import {
  authorizeTimeout,
  type DashboardResponse,
  forbiddenHost,
  internalError,
  unauthorized,
} from './http/response.js';

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
