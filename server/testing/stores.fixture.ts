import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from '../../scripts/redis-server.js';

const folder = mkdtempSync(join(tmpdir(), 'hubline-stores-'));
// It ends with the process, which may run the tests of several files.
const redis = await startRedisServer();

/** Returns the path of a file that does not exist yet. The end of the tests removes it. */
export function newStoreFile(): string {
  return join(folder, `${randomUUID()}.db`);
}

/** Returns the address of a Redis that runs until the tests have ended. */
export function redisUrl(): string {
  return redis.url;
}
