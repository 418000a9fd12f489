import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { startExample } from '../testing/start-example.js';

test('two processes share the work, and an observer shows both', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.release());
  const env = { REDIS_URL: redis.url, PORT: String(await freePort()) };
  const dashboard = startExample('transports/redis-dashboard.ts', { env });
  const workers = [startExample('transports/redis.ts', { env }), startExample('transports/redis.ts', { env })];
  const url = await dashboard.url;

  await vi.waitFor(
    async () => {
      const response = await fetch(`${url}api/introspection`);
      await expect(response.json()).resolves.toMatchObject({
        events: [{ type: 'greeted', processes: 2, metrics: { received: 2, completed: 2, failed: 0 } }],
      });
    },
    { timeout: 60_000, interval: 200 },
  );
  const ends = await Promise.all(workers.map((worker) => worker.stop()));
  expect(ends.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  expect(
    ends
      .map(({ stdout }) => stdout)
      .join('')
      .match(/Hello, Ada!/g),
  ).toHaveLength(2);
  expect((await dashboard.stop()).exitCode).toBe(0);
});
