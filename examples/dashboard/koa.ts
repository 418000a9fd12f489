import { createDashboardHandler, createHub } from 'hubline';
import Koa from 'koa';

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

const app = new Koa();
const allowedHosts = ['127.0.0.1', 'localhost'];
const dashboard = createDashboardHandler(hub, { basePath: '/ops/hub', allowedHosts });
app.use(async (ctx, next) => {
  if (ctx.path === '/ops/hub' || ctx.path.startsWith('/ops/hub/')) {
    ctx.respond = false;
    dashboard(ctx.req, ctx.res);
  } else {
    await next();
  }
});

const port = Number(process.env['PORT'] ?? 4000);
app.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/ops/hub`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
