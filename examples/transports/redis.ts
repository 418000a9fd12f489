import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

const hub = createHub({ service: 'shop', transport: redisTransport({ url }) });

const greeted = hub.event<{ name: string }>({
  type: 'greeted',
  retry: { maxAttempts: 3 },
  handler: ({ payload }) => console.log(`Hello, ${payload.name}! From process ${process.pid}`),
});
await hub.start();
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));

await hub.emit(greeted, { name: 'Ada' });
