import { type HttpBindings, serve } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { createDashboardHandler, createHub } from 'hubline';

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

const app = new Hono<{ Bindings: HttpBindings }>();
const allowedHosts = ['127.0.0.1', 'localhost'];
const dashboard = createDashboardHandler(hub, { basePath: '/ops/hub', allowedHosts });
app.all('/ops/hub/*', (c) => {
  dashboard(c.env.incoming, c.env.outgoing);
  return RESPONSE_ALREADY_SENT;
});

const port = Number(process.env['PORT'] ?? 4000);
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => console.log(`http://127.0.0.1:${port}/ops/hub`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
