import { Hono } from 'hono';
import { createDashboardFetch, createHub } from 'hubline';

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

// Your application creates a session at its login, and stores it with the user's role.
const sessions = new Map([['4b1f9e', { role: 'operator' }]]);

const sessionOf = ({ headers }: Request): { role: string } | undefined =>
  sessions.get(/(?:^|;\s*)session=([^;]*)/.exec(headers.get('cookie') ?? '')?.[1] ?? '');

const dashboard = createDashboardFetch(hub, {
  basePath: '/ops/hub',
  authorize: (request) => sessionOf(request)?.role === 'operator',
  onUnauthorized(request) {
    // The page's requests for JSON get the 401.
    if (new URL(request.url).pathname !== '/ops/hub') return undefined;
    return new Response(null, { status: 303, headers: { location: '/login' } });
  },
});

// Next's App Router, in `app/ops/hub/[[...path]]/route.ts`.
export const GET = dashboard;

// Hono, on every runtime.
export const app: Hono = new Hono();
app.all('/ops/hub/*', (c) => dashboard(c.req.raw));

// `bun FILE` and `deno serve FILE` serve the default export of a file.
export default { fetch: dashboard };
