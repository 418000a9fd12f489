import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../transports/clock.js';
import type { Logger } from '../transports/logger.js';
import type { ResolvedDashboardOptions } from './dashboard-options.js';
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

/** Returns the refusal of a request, or `undefined` if it is allowed. `handled`: `onUnauthorized` responded. */
export type AccessGuard = (
  req: IncomingMessage,
  res: ServerResponse,
) => DashboardResponse | 'handled' | undefined | Promise<DashboardResponse | 'handled' | undefined>;

/** Creates the guard of a dashboard: `allowedHosts`, then `authorize`. */
export function createAccessGuard(
  { isAllowedHost, authorize, onUnauthorized }: ResolvedDashboardOptions,
  logger: Logger,
  clock: Clock,
): AccessGuard {
  const logRefusal = createRefusalLog(logger, () => clock.monotonic());

  async function check(
    allows: NonNullable<typeof authorize>,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<DashboardResponse | 'handled' | undefined> {
    try {
      const answer = await settled(allows, req, clock);
      if (answer === true) return undefined;
      if (answer === timedOut) {
        logRefusal(`authorize did not settle within ${authorizeTimeoutMs} ms`);
        return authorizeTimeout;
      }
      logRefusal('authorize did not return true');
      if (onUnauthorized === undefined) return unauthorized;
      await onUnauthorized(req, res);
      return res.writableEnded || res.headersSent ? 'handled' : unauthorized;
    } catch (error) {
      logger.error({ err: error }, 'dashboard: authorize or onUnauthorized failed; the request was denied');
      return internalError;
    }
  }

  return (req, res) => {
    if (!isAllowedHost(req.headers.host)) {
      logRefusal('the Host header is not in allowedHosts');
      return forbiddenHost;
    }
    return authorize === undefined ? undefined : check(authorize, req, res);
  };
}

const timedOut = Symbol('timed out');

async function settled(
  allows: (req: IncomingMessage) => boolean | Promise<boolean>,
  req: IncomingMessage,
  clock: Clock,
): Promise<unknown> {
  let stop = (): void => {};
  const timeout = new Promise<symbol>((resolve) => {
    const timer = clock.after(authorizeTimeoutMs, () => resolve(timedOut));
    stop = () => timer.cancel();
  });
  try {
    return await Promise.race([allows(req), timeout]);
  } finally {
    stop();
  }
}
