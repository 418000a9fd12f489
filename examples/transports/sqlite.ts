import { createHub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';

const file = process.env['HUB_FILE'] ?? 'hub.db';

const hub = createHub({ service: 'shop', transport: sqliteTransport({ file }) });

const greeted = hub.event<{ name: string }>({
  type: 'greeted',
  retry: { maxAttempts: 3 },
  handler: ({ payload }) => console.log(`Hello, ${payload.name}!`),
});
await hub.start();
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));

await hub.emit(greeted, { name: 'Ada' }, { delayMs: 1_000 });
console.log('accepted');
