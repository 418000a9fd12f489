import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';

const folder = mkdtempSync(join(tmpdir(), 'hubline-stores-'));
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await redis.release();
});

/** Returns the path of a file that does not exist yet. The end of the tests removes it. */
export function newStoreFile(): string {
  return join(folder, `${randomUUID()}.db`);
}

/** Returns the address of a Redis that runs until the tests have ended. */
export function redisUrl(): string {
  return redis.url;
}
