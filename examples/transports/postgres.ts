import { createHub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';

const connectionString = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';

const hub = createHub({ service: 'shop', transport: postgresTransport({ connectionString }) });

const greeted = hub.event<{ name: string }>({
  type: 'greeted',
  retry: { maxAttempts: 3 },
  handler: ({ payload }) => console.log(`Hello, ${payload.name}! From process ${process.pid}`),
});
await hub.start();
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));

await hub.emit(greeted, { name: 'Ada' }, { delayMs: 1_000 });
console.log('accepted');
