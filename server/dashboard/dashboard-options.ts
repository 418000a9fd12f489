import type { IncomingMessage, ServerResponse } from 'node:http';
import { OptionChecker } from '../options.js';
import { createHostCheck, type HostCheck } from './access-guard.js';
import { normalizeBasePath } from './request.js';
import { checkFrameAncestors } from './response.js';

/** Options of every dashboard. */
export interface CommonDashboardOptions {
  /**
   * Path at which the handler is mounted. `dash`, `/dash` and `/dash/` are the same path. A framework that strips the
   * path from `req.url`, such as Express, needs no `basePath`.
   *
   * @default '/'
   */
  basePath?: string;
  /**
   * Values of the `Host` header that the handler answers, such as `["localhost", "127.0.0.1"]`; others get 403. A host
   * without a port allows every port. Set it for a dashboard on a loopback or private address without `authorize`: it
   * stops the page of a stranger that points its own name at your address (DNS rebinding).
   *
   * @default every host
   */
  allowedHosts?: readonly string[];
  /**
   * CSP sources of the sites that may embed the dashboard in a frame, such as `["'self'"]`.
   *
   * @default ["'none'"]
   */
  frameAncestors?: readonly string[];
  /**
   * Path at which `createActionsHandler` is mounted on the same origin, as browsers see it, such as `/ops/hub-actions`. The
   * page then shows the actions that its user may carry out.
   *
   * @default the page is read-only
   */
  actions?: string;
}

/** Options of `createDashboardHandler`. */
export interface DashboardOptions extends CommonDashboardOptions {
  /**
   * Called before every GET, including the one for the page. Any result other than `true` leads to 401, a throw or a
   * rejection to 500, no result within 10 seconds to 503. To get the browser's login prompt, set `WWW-Authenticate` on
   * the response beforehand. Refusals are logged, at most one line per minute.
   *
   * @default everyone who can reach the handler may read
   */
  authorize?: (req: IncomingMessage) => boolean | Promise<boolean>;
  /**
   * Called in place of the 401 if `authorize` did not return `true`. It may respond, such as with a redirect to a login;
   * if it has not responded when it returns or resolves, 401 follows. Requires `authorize`.
   *
   * @default 401
   */
  onUnauthorized?: (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;
}

/** Options of `createDashboardFetch`. */
export interface DashboardFetchOptions extends CommonDashboardOptions {
  /**
   * Called before every GET, including the one for the page. Any result other than `true` leads to 401, a throw or a
   * rejection to 500, no result within 10 seconds to 503. Refusals are logged, at most one line per minute.
   *
   * @default everyone who can reach the handler may read
   */
  authorize?: (request: Request) => boolean | Promise<boolean>;
  /**
   * Called in place of the 401 if `authorize` did not return `true`. It may return a response, such as a redirect to a
   * login; `undefined` leads to 401. Requires `authorize`.
   *
   * @default 401
   */
  onUnauthorized?: (request: Request) => Response | undefined | Promise<Response | undefined>;
}

/** Checked options that do not depend on the kind of request, with defaults applied. */
export interface ResolvedDashboardOptions {
  /** Normalized: empty for the root, otherwise without a trailing slash. */
  readonly basePath: string;
  readonly frameAncestors: readonly string[];
  readonly isAllowedHost: HostCheck;
  /** Normalized. */
  readonly actions: string | undefined;
}

const names: readonly (keyof DashboardOptions)[] = [
  'basePath',
  'authorize',
  'onUnauthorized',
  'allowedHosts',
  'frameAncestors',
  'actions',
];

/**
 * Checks the options and applies the defaults.
 *
 * @param owner function that receives them
 * @throws {InvalidOptionError}
 */
export function resolveDashboardOptions(
  options: DashboardOptions | DashboardFetchOptions,
  owner: string,
): ResolvedDashboardOptions {
  // A misspelt `authorize` must not leave the dashboard open.
  const check = new OptionChecker(options, names, owner);
  const { basePath = '/', authorize, onUnauthorized, allowedHosts, frameAncestors = ["'none'"], actions } = options;
  check.function('authorize', authorize);
  check.function('onUnauthorized', onUnauthorized);
  check.that(
    onUnauthorized === undefined || authorize !== undefined,
    'onUnauthorized',
    'left out without authorize',
    onUnauthorized,
  );
  return {
    basePath: normalizeBasePath(basePath),
    frameAncestors: checkFrameAncestors(frameAncestors),
    isAllowedHost: createHostCheck(allowedHosts),
    actions: actions === undefined ? undefined : normalizeBasePath(actions, 'actions'),
  };
}
