import { createHub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { startExample } from '../testing/start-example.js';

test('two processes share the work, an accepted event survives kill -9, and a third process sees it all', async () => {
  const postgres = await startPostgresServer();
  onTestFinished(() => postgres.release());
  const env = { POSTGRES_URL: postgres.url };
  const killed = startExample('transports/postgres.ts', { env });
  await killed.printed('accepted');
  const before = await killed.stop('SIGKILL');
  const workers = [startExample('transports/postgres.ts', { env }), startExample('transports/postgres.ts', { env })];

  const transport = postgresTransport({ connectionString: postgres.url });
  const observer = createHub({ service: 'watch', transport });
  await observer.start();
  await vi.waitFor(
    async () =>
      expect(await observer.metrics('greeted')).toMatchObject({ received: 3, completed: 3, failed: 0, pending: 0 }),
    { timeout: 60_000, interval: 200 },
  );
  const ends = await Promise.all(workers.map((worker) => worker.stop()));
  expect(ends.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  const handled = [before, ...ends].map(({ stdout }) => stdout).join('');
  expect((handled.match(/Hello, Ada!/g) ?? []).length).toBeGreaterThanOrEqual(3);
  await observer.stop();
});
