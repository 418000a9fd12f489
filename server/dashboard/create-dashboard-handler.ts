import type { IncomingMessage, ServerResponse } from 'node:http';
import { InvalidOptionError } from '../errors.js';
import type { Hub } from '../hub/hub.js';
import { commonHeaders } from './common-headers.js';
import { type DashboardOptions, resolveDashboardOptions } from './dashboard-options.js';
import { type Answer, type DashboardRequest, internalError, unauthorized } from './http/response.js';
import { createRouter } from './routes/router.js';

/** Answers one request of a `node:http` server, or of a framework that hands out the raw objects. */
export type DashboardHandler = (req: IncomingMessage, res: ServerResponse) => void;

/**
 * Serves the dashboard of a hub: the page at the mount point, and the JSON it polls below. It is open
 * to all who can reach it unless `authorize` guards it. The handler never throws; what goes wrong
 * is logged to the hub's logger.
 *
 * @example
 * ```ts
 * createServer(createDashboardHandler(hub, { authorize: isAdmin })).listen(3000);
 * app.use('/ops/hub', createDashboardHandler(hub, { authorize: isAdmin })); // Express
 * ```
 * @throws {InvalidOptionError}
 */
export function createDashboardHandler(hub: Hub, options: DashboardOptions = {}): DashboardHandler {
  checkHub(hub);
  const { basePath, authorize, frameAncestors, redactError } = resolveDashboardOptions(options);
  const { logger } = hub;
  const headers = commonHeaders(frameAncestors);
  const route = createRouter(hub, {
    basePath,
    redactError,
    onFailure: (error) => report(error, 'the dashboard could not read the hub'),
  });
  if (authorize === undefined && process.env['NODE_ENV'] === 'production') {
    logger.warn(
      {},
      'the dashboard is open to everyone who can reach it: pass authorize to createDashboardHandler, or () => true where something in front guards it',
    );
  }

  function report(error: unknown, message: string): void {
    try {
      logger.error({ err: error }, message);
    } catch {
      // A logger that throws leaves nowhere to report to, and the server must not go down for it.
    }
  }

  async function guarded(req: IncomingMessage, allows: NonNullable<typeof authorize>): Promise<Answer> {
    try {
      if ((await allows(req)) !== true) return unauthorized;
    } catch (error) {
      report(error, 'authorize of the dashboard failed; the request was refused');
      return internalError;
    }
    return route(readRequest(req, basePath));
  }

  function send(res: ServerResponse, answer: Answer): void {
    if (res.headersSent || res.writableEnded || res.destroyed) return;
    try {
      res.statusCode = answer.status;
      setHeaders(res, headers);
      setHeaders(res, answer.headers);
      res.end(answer.body);
    } catch (error) {
      // Only what others hooked into the response throws here. A client must not wait for it.
      report(error, 'the dashboard could not send its answer');
      res.destroy();
    }
  }

  return (req, res) => {
    // Every other method is answered alike, whoever asks.
    const answer =
      authorize === undefined || req.method !== 'GET' ? route(readRequest(req, basePath)) : guarded(req, authorize);
    if (answer instanceof Promise) void answer.then((settled) => send(res, settled));
    else send(res, answer);
  };
}

function checkHub(hub: unknown): asserts hub is Hub {
  const valid = typeof hub === 'object' && hub !== null && 'introspect' in hub && 'revision' in hub && 'logger' in hub;
  if (!valid) throw new InvalidOptionError('hub', 'a hub made by createHub', hub);
}

function readRequest(req: IncomingMessage, basePath: string): DashboardRequest {
  const { url, originalUrl, baseUrl }: { url?: unknown; originalUrl?: unknown; baseUrl?: unknown } = req;
  const targets: string[] = [];
  if (typeof url === 'string') {
    targets.push(url);
    // What Express cut off `url`: where a router that it mounts knows the handler by the end of it.
    if (typeof baseUrl === 'string' && baseUrl.endsWith(basePath)) targets.push(basePath + url);
  }
  // Where Connect and its kin cut the mount path off `url`, this still has it.
  if (typeof originalUrl === 'string') targets.push(originalUrl);
  return {
    method: req.method,
    targets,
    acceptEncoding: req.headers['accept-encoding'],
    ifNoneMatch: req.headers['if-none-match'],
  };
}

function setHeaders(res: ServerResponse, headers: Answer['headers']): void {
  for (const [name, value] of headers) {
    res.setHeader(name, name === 'Vary' ? addedTo(res.getHeader(name), value) : value);
  }
}

// What stands in front may vary its answers too, by Origin for instance.
function addedTo(present: number | string | string[] | undefined, value: string): string {
  return present === undefined ? value : [present, value].flat().join(', ');
}
