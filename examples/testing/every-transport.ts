import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HubOptions, memoryTransport } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { afterAll, beforeAll } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';

const folder = mkdtempSync(join(tmpdir(), 'hubline-examples-'));
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await redis.release();
});

/** Transports on which the tests run the guides' examples, with the options of a hub that uses a new one. */
export const everyTransport: readonly (readonly [name: string, options: () => HubOptions])[] = [
  ['memory', () => ({ transport: memoryTransport() })],
  ['sqlite', () => ({ transport: sqliteTransport({ file: join(folder, `${randomUUID()}.db`) }) })],
  ['redis', () => ({ transport: redisTransport({ url: redis.url, prefix: randomUUID(), emitTimeoutMs: 60_000 }) })],
];
