import type { IncomingMessage } from 'node:http';
import { InvalidOptionError } from '../errors.js';
import { checkOptionNames } from '../option-names.js';
import { checkFrameAncestors } from './common-headers.js';
import { normalizeBasePath } from './http/paths.js';
import type { FailureRecord } from './protocol.js';

/** What is shown of an error. */
export type ShownError = Pick<FailureRecord, 'name' | 'message'>;

/** What `createDashboardHandler` takes beside the hub. */
export interface DashboardOptions {
  /**
   * Path at which the handler is mounted, where the server or framework does not strip it from `req.url`.
   * `dash`, `/dash` and `/dash/` mean the same.
   *
   * @default '/'
   */
  basePath?: string;
  /**
   * Asked before every GET, the page's included. Anything but `true` is answered with 401; a throw or a
   * rejection with 500. For a browser's login prompt set `WWW-Authenticate` on the response beforehand.
   *
   * @default everyone who can reach the handler may read
   */
  authorize?: (req: IncomingMessage) => boolean | Promise<boolean>;
  /**
   * CSP sources of the sites that may show the dashboard in a frame, such as `["'self'"]`.
   *
   * @default ["'none'"]
   */
  frameAncestors?: readonly string[];
  /**
   * Gives the name and message to show in place of a recent failure's own, which may hold personal data.
   *
   * @default both as they are
   */
  redactError?: (error: FailureRecord) => ShownError;
}

/** Options that were checked, with their defaults. */
export interface ResolvedDashboardOptions {
  /** Normalised: empty at the root, otherwise without a slash at its end. */
  readonly basePath: string;
  readonly authorize: DashboardOptions['authorize'];
  readonly frameAncestors: readonly string[];
  readonly redactError: DashboardOptions['redactError'];
}

const names = ['basePath', 'authorize', 'frameAncestors', 'redactError'];

/** @throws {InvalidOptionError} */
export function resolveDashboardOptions(options: DashboardOptions): ResolvedDashboardOptions {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionError('options', 'an object', options);
  }
  // A misspelt `authorize` must not leave the dashboard open.
  checkOptionNames(options, names, 'createDashboardHandler');
  const { basePath = '/', authorize, frameAncestors = ["'none'"], redactError } = options;
  checkFunction('authorize', authorize);
  checkFunction('redactError', redactError);
  return {
    basePath: normalizeBasePath(basePath),
    authorize,
    frameAncestors: checkFrameAncestors(frameAncestors),
    redactError,
  };
}

function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw new InvalidOptionError(name, 'a function', value);
}
