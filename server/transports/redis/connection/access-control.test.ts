import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { silentLogger } from '../../transport.js';
import { redisTransport } from '../redis-transport.js';
import { startTestRedis } from '../test-redis.fixture.js';

const { admin, createUser } = await startTestRedis();

it('the documented user cannot read other keys', async () => {
  const user = new Redis(await createUser('hub'));
  await expect(user.get('other')).rejects.toThrow('NOPERM');
  await expect(user.flushall()).rejects.toThrow('NOPERM');
  user.disconnect();
});

it.each([
  ['the channels', 'resetchannels', [{ type: 'run', retainsRuns: true }]],
  ['a command', '-fcall', [{ type: 'a' }]],
  ['the keys', 'resetkeys', [{ type: 'a' }]],
])('start rejects, and the connection closes, if the user lacks %s', async (_, change, subscriptions) => {
  const url = await createUser('hub', change);
  const manager = redisTransport({ url, emitTimeoutMs: 60_000 }).connect({ service: 'shop', logger: silentLogger });
  const starting = manager.start({ subscriptions, concurrency: 1, onDelivery: () => {} });
  await expect(starting).rejects.toMatchObject({ code: 'ERR_REDIS_PERMISSION' });
  await manager.close({ drainMs: 0 });
});

it('a user that may not load functions starts after one that may', async () => {
  const start = async (url: string): Promise<void> => {
    const manager = redisTransport({ url, emitTimeoutMs: 60_000 }).connect({ service: 'shop', logger: silentLogger });
    try {
      await manager.start({ subscriptions: [{ type: 'a' }], concurrency: 1, onDelivery: () => {} });
    } finally {
      await manager.close({ drainMs: 0 });
    }
  };
  const withheld = ['-function|load', '-function|delete'];
  await admin.function('FLUSH');
  await expect(start(await createUser('hub', ...withheld))).rejects.toMatchObject({ code: 'ERR_REDIS_PERMISSION' });
  await start(await createUser('hub'));
  await start(await createUser('hub', ...withheld));
});
