import { randomUUID } from 'node:crypto';
import { type HubOptions, memoryTransport } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { afterAll, beforeAll } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.release());

/** Transports on which the tests run the guides' examples, with the options of a hub that uses a new one. */
export const everyTransport: readonly (readonly [name: string, options: () => HubOptions])[] = [
  ['memory', () => ({ transport: memoryTransport() })],
  ['redis', () => ({ transport: redisTransport({ url: redis.url, prefix: randomUUID() }) })],
];
