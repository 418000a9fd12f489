import type { Hub } from '../hub/hub.js';
import { createDashboardCore } from './dashboard-core.js';
import { type DashboardFetchOptions, resolveDashboardOptions } from './dashboard-options.js';
import type { DashboardResponse } from './response.js';

/** Request handler for servers of the Fetch API, such as Next's App Router, Hono, Bun and Deno. */
export type DashboardFetch = (request: Request) => Promise<Response>;

/**
 * Creates a function from request to response that serves the dashboard of a hub, as `createDashboardHandler` does for
 * `node:http`. Anyone who can reach it can read the dashboard, unless `authorize` guards it. It never rejects: errors go
 * to the hub's logger. A framework that strips the mount path from the URL needs no `basePath`.
 *
 * @example
 * ```ts
 * export const GET = createDashboardFetch(hub, { basePath: '/ops/hub', authorize: isAdmin }); // Next
 * Deno.serve(createDashboardFetch(hub, { authorize: isAdmin }));
 * ```
 * @throws {InvalidOptionError} if `hub` is not a hub or an option is not valid
 */
export function createDashboardFetch(hub: Hub, options: DashboardFetchOptions = {}): DashboardFetch {
  const settings = resolveDashboardOptions(options, 'createDashboardFetch');
  const { authorize, onUnauthorized } = options;
  const core = createDashboardCore<Request, Response>(hub, {
    ...settings,
    owner: 'createDashboardFetch',
    hostOf: (request) => request.headers.get('host') ?? new URL(request.url).host,
    authorize,
    onUnauthorized: onUnauthorized && (async (request) => onUnauthorized(request)),
  });
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const response = await core.respond(request, {
      method: request.method,
      targets: [pathname + search],
      acceptEncoding: isOfNext(request) ? undefined : (request.headers.get('accept-encoding') ?? undefined),
      ifNoneMatch: request.headers.get('if-none-match') ?? undefined,
    });
    return response instanceof Response ? response : toResponse(response, core.headers);
  };
}

/** Next drops `Content-Encoding` of a route's response, and compresses the body itself. */
function isOfNext(request: Request): boolean {
  return 'nextUrl' in request;
}

function toResponse({ status, headers, body }: DashboardResponse, common: DashboardResponse['headers']): Response {
  const all = new Headers();
  for (const [name, value] of [...common, ...headers]) all.set(name, value);
  // A Buffer may be a part of a larger one; the types of the Fetch API take no view of a shared buffer.
  return new Response(body === undefined ? null : typeof body === 'string' ? body : new Uint8Array(body), {
    status,
    headers: all,
  });
}
