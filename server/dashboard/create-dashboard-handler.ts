import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Hub } from '../hub/hub.js';
import { createDashboardCore } from './dashboard-core.js';
import { type DashboardOptions, resolveDashboardOptions } from './dashboard-options.js';
import type { DashboardRequest, DashboardResponse } from './response.js';

/** Request handler for a `node:http` server, or for a framework that passes the raw request and response. */
export type DashboardHandler = (req: IncomingMessage, res: ServerResponse) => void;

/**
 * Creates a request handler that serves the dashboard of a hub: the page at the mount point, and below it the JSON
 * that the page polls. Anyone who can reach the handler can read it, unless `authorize` guards it. The handler never
 * throws: errors go to the hub's logger.
 *
 * @example
 * ```ts
 * createServer(createDashboardHandler(hub, { authorize: isAdmin })).listen(3000);
 * app.use('/ops/hub', createDashboardHandler(hub, { authorize: isAdmin })); // Express
 * ```
 * @throws {InvalidOptionError} if `hub` is not a hub or an option is not valid
 */
export function createDashboardHandler(hub: Hub, options: DashboardOptions = {}): DashboardHandler {
  const settings = resolveDashboardOptions(options, 'createDashboardHandler');
  const { basePath } = settings;
  const { authorize, onUnauthorized } = options;
  const core = createDashboardCore<Exchange, 'handled'>(hub, {
    ...settings,
    owner: 'createDashboardHandler',
    hostOf: ({ req }) => authorityOf(req),
    authorize: authorize && (({ req }) => authorize(req)),
    onUnauthorized:
      onUnauthorized &&
      (async ({ req, res }) => {
        await onUnauthorized(req, res);
        return res.writableEnded || res.headersSent ? 'handled' : undefined;
      }),
  });

  function send(res: ServerResponse, response: DashboardResponse | 'handled'): void {
    if (response === 'handled' || res.headersSent || res.writableEnded || res.destroyed) return;
    try {
      res.statusCode = response.status;
      setHeaders(res, core.headers);
      setHeaders(res, response.headers);
      res.end(response.body);
    } catch (error) {
      // Only code that patched the response can throw here. Destroying it keeps the client from waiting.
      core.logError(error, 'dashboard: failed to send a response');
      res.destroy();
    }
  }

  return (req, res) => {
    const response = core.respond({ req, res }, readRequest(req, basePath));
    if (response instanceof Promise) void response.then((later) => send(res, later));
    else send(res, response);
  };
}

/** Request and response of `node:http`. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** Returns the host that a request names: HTTP/2 has a pseudo-header in place of `Host`, and in preference to it. */
export function authorityOf({ headers }: IncomingMessage): string | undefined {
  const authority = headers[':authority'];
  return typeof authority === 'string' ? authority : headers.host;
}

/** Returns the targets that a request may mean, best first. */
export function targetsOf(req: IncomingMessage, basePath: string): readonly string[] {
  const { url, originalUrl, baseUrl }: { url?: unknown; originalUrl?: unknown; baseUrl?: unknown } = req;
  const targets: string[] = [];
  if (typeof url === 'string') {
    targets.push(url);
    // Express strips the mount path from `url`. A nested router strips it in parts, so `baseUrl` ends with the base path.
    if (typeof baseUrl === 'string' && baseUrl.endsWith(basePath)) targets.push(basePath + url);
  }
  // Connect-style frameworks strip the mount path from `url`, not from `originalUrl`.
  if (typeof originalUrl === 'string') targets.push(originalUrl);
  return targets;
}

function readRequest(req: IncomingMessage, basePath: string): DashboardRequest {
  return {
    method: req.method,
    targets: targetsOf(req, basePath),
    acceptEncoding: req.headers['accept-encoding'],
    ifNoneMatch: req.headers['if-none-match'],
  };
}

function setHeaders(res: ServerResponse, headers: DashboardResponse['headers']): void {
  for (const [name, value] of headers) {
    res.setHeader(name, name === 'Vary' ? appendTo(res.getHeader(name), value) : value);
  }
}

// Middleware may set `Vary` too, for example to `Origin`.
function appendTo(present: number | string | string[] | undefined, value: string): string {
  return present === undefined ? value : [present, value].flat().join(', ');
}
