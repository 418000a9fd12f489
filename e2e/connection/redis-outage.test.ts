import { redisTransport } from 'hubline/redis';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { test as base, expect } from '../testing/fixtures.js';
import { eventRow, expectConnection, expectCounts } from '../testing/page-parts.js';

const test = base.extend<{ redis: RedisServer }>({
  // Playwright requires a destructuring pattern, and the linter forbids an empty one.
  redis: async ({ browserName: _ }, use) => {
    const redis = await startRedisServer(['--appendonly', 'yes']);
    await use(redis);
    await redis.release();
  },
});

test.use({ expectsOutages: true });

test('Redis stops and restarts with its data', { tag: '@any-width' }, async ({ redis, page, serve }) => {
  const { origin, hub } = await serve({
    hubOptions: { transport: redisTransport({ url: redis.url }) },
    register: (shop) => {
      shop.event({ type: 'order.created', handler: () => {} });
    },
  });
  for (let n = 0; n < 5; n += 1) await hub.emit('order.created', { n });
  await page.goto(`${origin}/#/?every=1`);
  const row = eventRow(page, 'order.created');
  await expectCounts(row, 5, 0);
  const banner = page.getByRole('region', { name: 'Connection' });

  await redis.stop();
  await expect(banner).toContainText('The server is not ready (503). Message: The hub cannot be read at the moment');
  await expect(banner).toContainText(/The data is from .+ old\./);
  await expectConnection(page, 'Lost');
  await expectCounts(row, 5, 0);

  await redis.start();
  await expectConnection(page, 'Live');
  await expect(banner).toBeHidden();
  await hub.emit('order.created', { n: 5 });
  await expectCounts(row, 6, 0);
  await expect(row).not.toContainText('restarted');
});
