import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { orderPlaced } from './definitions.js';

const { REDIS_URL: url = 'redis://127.0.0.1:6379' } = process.env;

const hub = createHub({ service: 'orders', transport: redisTransport({ url }) });
hub.event(orderPlaced, {
  retry: { maxAttempts: 5 },
  timeoutMs: 30_000,
  handler: ({ payload }) => console.log(`packing ${payload.items.join(', ')} of ${payload.id}`),
});
await hub.start();
console.log('ready');
process.once('SIGTERM', () => hub.stop({ drainMs: 20_000 }).then(() => process.exit(0)));
