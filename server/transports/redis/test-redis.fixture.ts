import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../scripts/redis-server.js';

/** Redis server of a test file. */
export interface TestRedis {
  readonly server: RedisServer;
  /** Client that no transport uses. */
  readonly admin: Redis;
  /** Creates the documented user for a prefix, with further rules. Returns the URL with it. */
  createUser(prefix: string, ...changes: readonly string[]): Promise<string>;
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
  return {
    server,
    admin,
    async createUser(prefix, ...changes) {
      await admin.call('ACL', 'SETUSER', prefix, 'reset', ...documentedRules(prefix), ...changes);
      return `redis://${prefix}:choose-a-password@127.0.0.1:${server.port}`;
    },
  };
}

/** Returns the rules of the documented user, which has the default prefix `hub` there. */
function documentedRules(prefix: string): string[] {
  const docs = readFileSync(new URL('../../../docs/redis-operations.md', import.meta.url), 'utf8');
  const command = /^ACL SETUSER hubline (.*?)\n```/ms.exec(docs)?.[1];
  if (command === undefined) throw new Error('docs/redis-operations.md has no command that creates the user');
  return command.replaceAll('\\\n', ' ').replaceAll('{hub}', `{${prefix}}`).split(/\s+/).filter(Boolean);
}
