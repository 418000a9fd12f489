import { InvalidOptionError } from '../errors.js';
import type { Hub } from '../hub/hub.js';
import { type AccessRules, createAccessGuard, createLimitedLog, reasonOf } from './access-guard.js';
import {
  commonHeaders,
  type DashboardRequest,
  type DashboardResponse,
  type Header,
  internalError,
} from './response.js';
import { createRouter } from './routes/router.js';

/** The part of a dashboard that does not depend on how requests arrive. */
export interface DashboardCore<TRequest, THandled> {
  /** Headers of every response. */
  readonly headers: readonly Header[];
  /** Guards and routes a request. Never throws and never rejects. */
  respond(
    request: TRequest,
    parts: DashboardRequest,
  ): DashboardResponse | THandled | Promise<DashboardResponse | THandled>;
  /** Logs an error, at most one of a kind per minute, with their number. Never throws. */
  logError(error: unknown, message: string): void;
}

/** Settings of a dashboard for one kind of request. */
export interface DashboardSettings<TRequest, THandled> extends AccessRules<TRequest, THandled> {
  /** Normalized. */
  readonly basePath: string;
  readonly frameAncestors: readonly string[];
  readonly actions: string | undefined;
  /** Function that creates the dashboard, for messages. */
  readonly owner: string;
}

/** Creates the core of a dashboard. @throws {InvalidOptionError} if `hub` is not a hub */
export function createDashboardCore<TRequest, THandled>(
  hub: Hub,
  { basePath, frameAncestors, actions, owner, ...rules }: DashboardSettings<TRequest, THandled>,
): DashboardCore<TRequest, THandled> {
  checkHub(hub);
  const { logger } = hub;
  const isOpen = rules.authorize === undefined;
  const { clock } = hub.transport;
  const guard = createAccessGuard(rules, logger, clock);
  const limited = createLimitedLog(() => clock.monotonic());
  const route = createRouter(hub, {
    basePath,
    actions,
    onFailure: (error) => logError(error, 'dashboard: failed to read the hub'),
  });
  if (isOpen && process.env['NODE_ENV'] === 'production') {
    logger.warn(
      {},
      `dashboard: open to everyone who can reach it; pass authorize to ${owner}, or () => true if a proxy guards it`,
    );
  }

  function logError(error: unknown, message: string): void {
    try {
      limited(`${message}: ${reasonOf(error)}`, (count) => logger.error({ err: error, count }, message));
    } catch {
      // A throwing logger must not crash the server, and there is nowhere else to report to.
    }
  }

  return {
    headers: commonHeaders(frameAncestors, !isOpen),
    logError,
    respond(request, parts) {
      // Other methods get 405 without a call of `authorize`.
      const refused = parts.method === 'GET' ? guard(request) : undefined;
      if (!(refused instanceof Promise)) return refused ?? route(parts);
      return refused
        .then((refusal) => refusal ?? route(parts))
        .catch((error: unknown) => {
          logError(error, 'dashboard: failed to respond');
          return internalError;
        });
    },
  };
}

/** @throws {InvalidOptionError} unless it is a hub */
export function checkHub(hub: unknown): asserts hub is Hub {
  const valid = typeof hub === 'object' && hub !== null && 'introspect' in hub && 'transport' in hub && 'logger' in hub;
  if (!valid) throw new InvalidOptionError('hub', 'a hub created by createHub', hub);
}
