import { createServer } from 'node:http';
import { createDashboardHandler, createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const port = Number(process.env['PORT'] ?? 4000);

const hub = createHub({ transport: redisTransport({ url }), observer: true });
await hub.start();
const dashboard = createDashboardHandler(hub, { allowedHosts: ['127.0.0.1', 'localhost'] });
createServer(dashboard).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
