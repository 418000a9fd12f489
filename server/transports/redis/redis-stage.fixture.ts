import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ContractStage, contractStage } from '../contract/contract-stage.js';
import { silentLogger } from '../transport.js';
import type { RedisTransportOptions } from './redis-options.js';
import { type RedisTransport, redisTransport } from './redis-transport.js';
import { serverTime } from './server-time.fixture.js';
import { startTestRedis, type TestRedis } from './test-redis.fixture.js';

// A busy machine is slow, not without Redis.
const emitTimeoutMs = 60_000;

/** Redis server of a test file, with a transport for each of its tests. */
export interface RedisStage extends ContractStage, TestRedis {
  /** Returns the transport of the current test. */
  transport(): RedisTransport;
  /** Returns the prefix of the current test's transport. */
  prefix(): string;
}

/** Starts a Redis server, which ends with the test file. */
export async function redisStage(options: Omit<RedisTransportOptions, 'url' | 'prefix'> = {}): Promise<RedisStage> {
  const redis = await startTestRedis();
  let prefix = '';
  let transport = redisTransport({ ...options, url: redis.server.url });
  const stage = contractStage(async () => {
    prefix = randomUUID();
    transport = redisTransport({ emitTimeoutMs, ...options, url: redis.server.url, prefix });
    return {
      connect: (service) => transport.connect({ service, logger: silentLogger }),
      advance: (ms) => delay(ms),
      now: () => serverTime(redis.admin),
      release: async () => {},
    };
  });
  return { ...stage, ...redis, transport: () => transport, prefix: () => prefix };
}
