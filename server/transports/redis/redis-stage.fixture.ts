import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../scripts/redis-server.js';
import { type ContractStage, contractStage } from '../contract/contract-stage.js';
import { silentLogger } from '../logger.js';
import type { RedisTransportOptions } from './redis-options.js';
import { type RedisTransport, redisTransport } from './redis-transport.js';
import { serverTime } from './server-time.fixture.js';

/** Redis server of a test file, with a transport for each of its tests. */
export interface RedisStage extends ContractStage {
  readonly server: RedisServer;
  /** Client that no transport uses. */
  readonly admin: Redis;
  /** Returns the transport of the current test. */
  transport(): RedisTransport;
  /** Returns the prefix of the current test's transport. */
  prefix(): string;
}

/** Starts a Redis server, which ends with the test file. */
export async function redisStage(options: Omit<RedisTransportOptions, 'url' | 'prefix'> = {}): Promise<RedisStage> {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  // Tests stop the server.
  admin.on('error', () => {});
  afterAll(async () => {
    admin.disconnect();
    await server.release();
  });
  let prefix = '';
  let transport = redisTransport({ ...options, url: server.url });
  const stage = contractStage(async () => {
    prefix = randomUUID();
    transport = redisTransport({ ...options, url: server.url, prefix });
    return {
      connect: (service) => transport.connect({ service, logger: silentLogger }),
      advance: (ms) => delay(ms),
      now: () => serverTime(admin),
      release: async () => {},
    };
  });
  return { ...stage, server, admin, transport: () => transport, prefix: () => prefix };
}
