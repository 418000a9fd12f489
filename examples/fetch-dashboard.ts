import { createDashboardFetch, createHub, type DashboardFetch } from 'hubline';

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

/** Route handler of Next's App Router, in `app/ops/hub/[[...path]]/route.ts`. */
export const GET: DashboardFetch = createDashboardFetch(hub, {
  basePath: '/ops/hub',
  authorize: (request) => request.headers.get('authorization') === `Bearer ${process.env['OPS_TOKEN']}`,
  onUnauthorized: (request) => Response.redirect(new URL('/login', request.url), 302),
});
