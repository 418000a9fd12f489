import type { IncomingMessage, ServerResponse } from 'node:http';
import { InvalidOptionError } from '../errors.js';
import type { Hub } from '../hub/hub.js';
import { type AccessGuard, createAccessGuard } from './access-guard.js';
import { commonHeaders } from './common-headers.js';
import { type DashboardOptions, resolveDashboardOptions } from './dashboard-options.js';
import { type DashboardRequest, type DashboardResponse, internalError } from './http/response.js';
import { createRouter } from './routes/router.js';

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
  checkHub(hub);
  const resolved = resolveDashboardOptions(options);
  const { basePath, authorize, frameAncestors } = resolved;
  const { logger } = hub;
  const guard = createAccessGuard(resolved, logger, hub.transport.clock);
  const headers = commonHeaders(frameAncestors, authorize !== undefined);
  const route = createRouter(hub, {
    basePath,
    onFailure: (error) => logError(error, 'dashboard: failed to read the hub'),
  });
  if (authorize === undefined && process.env['NODE_ENV'] === 'production') {
    logger.warn(
      {},
      'dashboard: open to everyone who can reach it; pass authorize to createDashboardHandler, or () => true if a proxy guards it',
    );
  }

  function logError(error: unknown, message: string): void {
    try {
      logger.error({ err: error }, message);
    } catch {
      // A throwing logger must not crash the server, and there is nowhere else to report to.
    }
  }

  async function respondLater(
    req: IncomingMessage,
    res: ServerResponse,
    guarded: ReturnType<AccessGuard>,
  ): Promise<void> {
    const refused = await guarded;
    if (refused !== 'handled') send(res, refused ?? (await route(readRequest(req, basePath))));
  }

  function send(res: ServerResponse, response: DashboardResponse): void {
    if (res.headersSent || res.writableEnded || res.destroyed) return;
    try {
      res.statusCode = response.status;
      setHeaders(res, headers);
      setHeaders(res, response.headers);
      res.end(response.body);
    } catch (error) {
      // Only code that patched the response can throw here. Destroying it keeps the client from waiting.
      logError(error, 'dashboard: failed to send a response');
      res.destroy();
    }
  }

  return (req, res) => {
    // Other methods get 405 without a call of `authorize`.
    const refused = req.method === 'GET' ? guard(req, res) : undefined;
    const response = refused ?? route(readRequest(req, basePath));
    if (response === 'handled') return;
    if (!(response instanceof Promise)) {
      send(res, response);
      return;
    }
    respondLater(req, res, response).catch((error: unknown) => {
      logError(error, 'dashboard: failed to respond');
      send(res, internalError);
    });
  };
}

function checkHub(hub: unknown): asserts hub is Hub {
  const valid = typeof hub === 'object' && hub !== null && 'introspect' in hub && 'transport' in hub && 'logger' in hub;
  if (!valid) throw new InvalidOptionError('hub', 'a hub created by createHub', hub);
}

function readRequest(req: IncomingMessage, basePath: string): DashboardRequest {
  const { url, originalUrl, baseUrl }: { url?: unknown; originalUrl?: unknown; baseUrl?: unknown } = req;
  const targets: string[] = [];
  if (typeof url === 'string') {
    targets.push(url);
    // Express strips the mount path from `url`. A nested router strips it in parts, so `baseUrl` ends with the base path.
    if (typeof baseUrl === 'string' && baseUrl.endsWith(basePath)) targets.push(basePath + url);
  }
  // Connect-style frameworks strip the mount path from `url`, not from `originalUrl`.
  if (typeof originalUrl === 'string') targets.push(originalUrl);
  return {
    method: req.method,
    targets,
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
