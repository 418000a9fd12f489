import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../scripts/redis-server.js';
import { contractStage } from '../contract/contract-stage.js';
import { silentLogger } from '../logger.js';
import { redisTransport } from './redis-transport.js';

let server: RedisServer;
let admin: Redis;
let prefix: string;
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.release();
});
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const { consume } = contractStage(async () => {
  prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix });
  return {
    connect: (service) => transport.connect({ service, logger: silentLogger }),
    advance: (ms) => delay(ms),
    release: async () => {},
  };
});

function members(): Promise<string[]> {
  return admin.smembers(`{${prefix}}:members`);
}

/** As it is with processes that were out of touch too long. */
async function takeForDead(ids: readonly string[]): Promise<void> {
  await admin.del(...ids.map((id) => `{${prefix}}:member:${id}`));
}

it('a process that stops while it tells that it lives is gone', async () => {
  const { transport } = await consume([]);
  await takeForDead(await members());
  vi.advanceTimersByTime(5_000);
  await transport.close({ drainMs: 0 });
  expect(await members()).toEqual([]);
});
