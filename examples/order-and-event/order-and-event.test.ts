import { createHub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { startExample } from '../testing/start-example.js';
import { orderPlaced } from './orders.js';

test('with each client an order that commits has its event, and a refused one has none', async () => {
  const postgres = await startPostgresServer();
  onTestFinished(() => postgres.release());
  for (const client of ['pg', 'drizzle', 'prisma']) {
    const example = startExample('order-and-event/main.ts', { args: [client], env: { POSTGRES_URL: postgres.url } });
    await example.printed('order placed: 42');
    await example.printed('order refused');
    await example.printed('parcel packed');
    const { exitCode, stderr } = await example.stop('SIGTERM');
    expect([client, exitCode, stderr]).toEqual([client, 0, '']);
  }
  const hub = createHub({ service: 'watch', transport: postgresTransport({ connectionString: postgres.url }) });
  await hub.start();
  onTestFinished(async () => void (await hub.stop()));
  await vi.waitFor(async () =>
    expect(await hub.metrics(orderPlaced.type)).toMatchObject({ received: 3, completed: 3 }),
  );
});
