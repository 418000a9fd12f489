import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import type { ContractHarness } from '../contract/contract-stage.js';
import { contractCodec, describeCodedTransport, describeTransport } from '../contract/describe-transport.js';
import { describeDeadLetterAge } from '../contract/records/dead-letter-age.js';
import { maxDeadLetters } from '../contract/records/dead-letters.js';
import { silentLogger, type TransportManager } from '../transport.js';
import type { RedisTransportOptions } from './redis-options.js';
import { redisTransport } from './redis-transport.js';
import { serverTime } from './server-time.fixture.js';
import { startTestRedis } from './test-redis.fixture.js';

const { server, admin, createUser } = await startTestRedis();

async function startHarness(
  limits: Pick<RedisTransportOptions, 'maxDeadLetters' | 'maxDeadLetterAgeMs' | 'codec'>,
): Promise<ContractHarness> {
  const prefix = randomUUID();
  // It may do what the hub needs, and nothing else.
  const transport = redisTransport({
    url: await createUser(prefix),
    prefix,
    stalledIntervalMs: 500,
    emitTimeoutMs: 60_000,
    ...limits,
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
    async loseLeases() {
      const locks = await admin.keys(`{${prefix}}:queue:*:lock`);
      if (locks.length > 0) await admin.del(...locks);
    },
    async release() {
      for (const manager of opened) await manager.close({ drainMs: 0 });
      expect(await admin.call('ACL', 'LOG')).toEqual([]);
      await admin.call('ACL', 'DELUSER', prefix);
    },
  };
}

describeTransport('redis', () => startHarness({ maxDeadLetters }));
describeCodedTransport('redis', () => startHarness({ maxDeadLetters, codec: contractCodec }));
describeDeadLetterAge('redis', (maxDeadLetterAgeMs) => startHarness({ maxDeadLetterAgeMs }));

it('accepts options of the client instead of a URL', async () => {
  const client = { host: '127.0.0.1', port: server.port, connectionName: 'by-options' };
  const manager = redisTransport({ client, emitTimeoutMs: 60_000 }).connect({ service: 'shop', logger: silentLogger });
  expect(await manager.kv.set('k', 'v')).toBe(true);
  await manager.close({ drainMs: 0 });
});

it.each([
  [{ url: 'localhost:6379' }, 'url'],
  [{ url: 'redis://:100%@127.0.0.1' }, 'url'],
  [{ url: 'redis://%zz@127.0.0.1' }, 'url'],
  [{ prefix: 'a{b' }, 'prefix'],
  [{ lockDurationMs: 0 }, 'lockDurationMs'],
  [{ maxCrashes: 1.5 }, 'maxCrashes'],
  [{ maxCrashes: 1 }, 'maxCrashes'],
  [{ maxDeadLetters: -1 }, 'maxDeadLetters'],
  [{ maxDeadLetterAgeMs: 0 }, 'maxDeadLetterAgeMs'],
  [{ maxDeadLetterAgeMs: Number.MAX_VALUE }, 'maxDeadLetterAgeMs'],
])('rejects the options %j', (options, named) => {
  expect(() => redisTransport(options)).toThrow(InvalidOptionError);
  expect(() => redisTransport(options)).toThrow(`${named} of redisTransport`);
});
