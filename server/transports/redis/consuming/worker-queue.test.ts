import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../../scripts/redis-server.js';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed, retry } from '../../contract/outcome.js';
import { silentLogger } from '../../logger.js';
import { connectConsumer } from '../connection/consumer-connection.js';
import { loadBullmq } from '../connection/optional-dependencies.js';
import { UnsupportedVersionError } from '../redis-errors.js';
import { resolveRedisOptions } from '../redis-options.js';
import { redisTransport } from '../redis-transport.js';
import { WorkerQueue } from './worker-queue.js';

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.release();
});

const { consume, next } = contractStage(async () => {
  const transport = redisTransport({ url: server.url, prefix: randomUUID() });
  return {
    connect: (service) => transport.connect({ service, logger: silentLogger }),
    advance: (ms) => delay(ms),
    release: async () => {},
  };
});

async function serverNow(): Promise<number> {
  const [seconds, microseconds] = await admin.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

it('starts a delayed event when its delay has passed on the server', async () => {
  const shop = await consume(['a']);
  const acceptedAfter = await serverNow();
  await shop.transport.publish([envelope('a', { delayMs: 300 })]);
  await (await next(shop)).commit(completed());
  expect((await serverNow()) - acceptedAfter).toBeGreaterThanOrEqual(300);
});

it('starts a retry when its delay has passed on the server', async () => {
  const shop = await consume(['a']);
  await shop.transport.publish([envelope('a')]);
  const first = await next(shop);
  const failedAfter = await serverNow();
  await first.commit(retry(300));
  expect(await next(shop)).toMatchObject({ attempt: 2 });
  expect((await serverNow()) - failedAfter).toBeGreaterThanOrEqual(300);
});

it('does not start with a version of BullMQ that it does not know', async () => {
  const settings = resolveRedisOptions({ url: server.url, prefix: randomUUID() });
  const connection = await connectConsumer(settings, silentLogger);
  const define = connection.defineCommand.bind(connection);
  connection.defineCommand = (name, definition) =>
    define(name, { ...definition, lua: `${definition.lua}\n-- changed` });
  const queue = new WorkerQueue(
    { name: 'shop', concurrency: 1 },
    await loadBullmq(),
    connection,
    settings,
    async () => {},
  );
  queue.onError(() => {});
  await expect(queue.start()).rejects.toThrow(UnsupportedVersionError);
  connection.disconnect();
});
