import { createServer } from 'node:http';
import { createDashboardHandler, createHub } from 'hubline';

const hub = createHub();
const greeted = hub.event<{ name: string }>({
  type: 'greeted',
  retry: { maxAttempts: 3 },
  handler: ({ payload }) => console.log(`Hello, ${payload.name}!`),
});
await hub.start();
await hub.emit(greeted, { name: 'Ada' });

const port = Number(process.env['PORT'] ?? 4000);
const dashboard = createDashboardHandler(hub, { allowedHosts: ['127.0.0.1', 'localhost'] });
createServer(dashboard).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
