import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../scripts/redis-server.js';
import { contractStage } from '../contract/contract-stage.js';
import { envelope } from '../contract/envelope.js';
import { completed } from '../contract/outcome.js';
import { silentLogger } from '../logger.js';
import type { Subscription } from '../transport.js';
import { redisTransport } from './redis-transport.js';
import { serverTime } from './server-time.fixture.js';

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

const { consume, counts, next, until } = contractStage(async () => {
  prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix });
  return {
    connect: (service) => transport.connect({ service, logger: silentLogger }),
    advance: (ms) => delay(ms),
    now: () => serverTime(admin),
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

it('a process that was out of touch leaves the limits alone that one started later has set', async () => {
  const before = await consume(['a']);
  const ids = await members();
  const after = await consume([{ type: 'a', concurrency: 1 }]);
  await takeForDead(ids);
  expect(await after.transport.registered()).toHaveLength(1);
  vi.advanceTimersByTime(5_000);
  await until(async () => (await members()).length === 2);
  await after.transport.publish([envelope('a'), envelope('a')]);
  // A queue of its own, in which one runs after the other: of the process that asked for it.
  for (let n = 0; n < 2; n += 1) {
    const delivery = await next(after);
    expect(after.waiting).toEqual([]);
    await delivery.commit(completed());
  }
  expect(before.waiting).toEqual([]);
});

it('a workflow is started by the trigger of the process that started last alone', async () => {
  const triggeredBy = (type: string): Subscription => ({
    type: 'flow',
    keepsRuns: true,
    trigger: { type, idSuffix: '/flow' },
  });
  const { transport } = await consume([triggeredBy('a')]);
  await consume([triggeredBy('b')]);
  await transport.publish([envelope('a')]);
  expect(await counts(transport, 'flow')).toMatchObject({ received: 0 });
  await transport.publish([envelope('b')]);
  expect(await counts(transport, 'flow')).toMatchObject({ received: 1 });
  await consume(['flow']);
  await transport.publish([envelope('b')]);
  expect(await counts(transport, 'flow')).toMatchObject({ received: 1 });
});
