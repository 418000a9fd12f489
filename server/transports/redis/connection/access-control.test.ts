import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { describeTransport } from '../../contract/describe-transport.js';
import { maxDeadLetters } from '../../contract/records/dead-letters.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import { redisTransport } from '../redis-transport.js';
import { serverTime } from '../server-time.fixture.js';
import { startTestRedis } from '../test-redis.fixture.js';

const { server, admin } = await startTestRedis();

/** Returns the rules of the documented user. */
function documentedRules(): string[] {
  const docs = readFileSync(new URL('../../../../docs/redis.md', import.meta.url), 'utf8');
  const command = /^ACL SETUSER hubline (.*?)\n```/ms.exec(docs)?.[1];
  if (command === undefined) throw new Error('docs/redis.md has no command that creates the user');
  return command.replaceAll('\\\n', ' ').split(/\s+/).filter(Boolean);
}

async function createUser(...changes: readonly string[]): Promise<string> {
  await admin.call('ACL', 'SETUSER', 'hubline', 'reset', ...documentedRules(), ...changes);
  return `redis://hubline:choose-a-password@127.0.0.1:${server.port}`;
}

describe('the documented user', () => {
  beforeEach(async () => {
    await admin.flushall();
  });

  describeTransport('redis as this user', async () => {
    const transport = redisTransport({
      url: await createUser(),
      stalledIntervalMs: 500,
      emitTimeoutMs: 60_000,
      maxDeadLetters,
    });
    const opened: TransportManager[] = [];
    return {
      connect(service) {
        const manager = transport.connect({ service, logger: silentLogger });
        opened.push(manager);
        return manager;
      },
      advance: (ms) => delay(ms),
      now: () => serverTime(admin),
      async release() {
        for (const manager of opened) await manager.close({ drainMs: 0 });
        expect(await admin.call('ACL', 'LOG')).toEqual([]);
      },
    };
  });

  it('cannot read other keys', async () => {
    const user = new Redis(await createUser());
    await expect(user.get('other')).rejects.toThrow('NOPERM');
    await expect(user.flushall()).rejects.toThrow('NOPERM');
    user.disconnect();
  });
});

it.each([
  ['the channels', 'resetchannels', [{ type: 'run', retainsRuns: true }]],
  ['a command', '-fcall', [{ type: 'a' }]],
  ['the keys', 'resetkeys', [{ type: 'a' }]],
])('start rejects, and the connection closes, if the user lacks %s', async (_, change, subscriptions) => {
  const url = await createUser(change);
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
  await expect(start(await createUser(...withheld))).rejects.toMatchObject({ code: 'ERR_REDIS_PERMISSION' });
  await start(await createUser());
  await start(await createUser(...withheld));
});
