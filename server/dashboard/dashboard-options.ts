import type { IncomingMessage } from 'node:http';
import { OptionChecker } from '../options.js';
import { checkFrameAncestors } from './common-headers.js';
import { normalizeBasePath } from './http/paths.js';
import type { FailureRecord } from './protocol.js';

/** Name and message of an error as the dashboard shows it. */
export type ShownError = Pick<FailureRecord, 'name' | 'message'>;

/** Options of `createDashboardHandler`. */
export interface DashboardOptions {
  /**
   * Path at which the handler is mounted. `dash`, `/dash` and `/dash/` are the same path. A framework that strips the
   * path from `req.url`, such as Express, needs no `basePath`.
   *
   * @default '/'
   */
  basePath?: string;
  /**
   * Called before every GET, including the one for the page. Any result other than `true` leads to 401, a throw or a
   * rejection to 500. To get the browser's login prompt, set `WWW-Authenticate` on the response beforehand.
   *
   * @default everyone who can reach the handler may read
   */
  authorize?: (req: IncomingMessage) => boolean | Promise<boolean>;
  /**
   * CSP sources of the sites that may embed the dashboard in a frame, such as `["'self'"]`.
   *
   * @default ["'none'"]
   */
  frameAncestors?: readonly string[];
  /**
   * Returns the name and message to show instead of those of a failure, which may contain personal data.
   *
   * @default name and message are shown unchanged
   */
  redactError?: (error: FailureRecord) => ShownError;
}

/** Checked options with defaults applied. */
export interface ResolvedDashboardOptions {
  /** Normalized: empty for the root, otherwise without a trailing slash. */
  readonly basePath: string;
  readonly authorize: DashboardOptions['authorize'];
  readonly frameAncestors: readonly string[];
  readonly redactError: DashboardOptions['redactError'];
}

const names = ['basePath', 'authorize', 'frameAncestors', 'redactError'];

/**
 * Checks the options and applies the defaults.
 *
 * @throws {InvalidOptionError}
 */
export function resolveDashboardOptions(options: DashboardOptions): ResolvedDashboardOptions {
  // A misspelt `authorize` must not leave the dashboard open.
  const check = new OptionChecker(options, names, 'createDashboardHandler');
  const { basePath = '/', authorize, frameAncestors = ["'none'"], redactError } = options;
  check.function('authorize', authorize);
  check.function('redactError', redactError);
  return {
    basePath: normalizeBasePath(basePath),
    authorize,
    frameAncestors: checkFrameAncestors(frameAncestors),
    redactError,
  };
}
