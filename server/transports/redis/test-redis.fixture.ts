import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../scripts/redis-server.js';

/** Redis server of a test file. */
export interface TestRedis {
  readonly server: RedisServer;
  /** Client that no transport uses. */
  readonly admin: Redis;
}

/** Starts a Redis server, which ends with the test file. */
export async function startTestRedis(): Promise<TestRedis> {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  // Tests stop the server.
  admin.on('error', () => {});
  afterAll(async () => {
    admin.disconnect();
    await server.release();
  });
  return { server, admin };
}
