import fastify from 'fastify';
import { createDashboardHandler, createHub } from 'hubline';

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

const app = fastify();
const allowedHosts = ['127.0.0.1', 'localhost'];
const dashboard = createDashboardHandler(hub, { basePath: '/ops/hub', allowedHosts });
for (const path of ['/ops/hub', '/ops/hub/*']) {
  app.all(path, (request, reply) => {
    reply.hijack();
    dashboard(request.raw, reply.raw);
  });
}

const port = Number(process.env['PORT'] ?? 4000);
await app.listen({ port, host: '127.0.0.1' });
console.log(`http://127.0.0.1:${port}/ops/hub`);
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
