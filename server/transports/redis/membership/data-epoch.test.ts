import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis-server.js';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { silentLogger } from '../../logger.js';
import { redisTransport } from '../redis-transport.js';
import { serverTime } from '../server-time.fixture.js';

const server = await startRedisServer();
const admin = new Redis(server.url);
admin.on('error', () => {});
const { consume, counts, until } = contractStage(async () => {
  const transport = redisTransport({ url: server.url, prefix: randomUUID(), emitTimeoutMs: 15_000 });
  return {
    connect: (service) => transport.connect({ service, logger: silentLogger }),
    advance: (ms) => delay(ms),
    now: () => serverTime(admin),
    release: async () => {},
  };
});

it('accepts no event for nobody after Redis has lost its data', async () => {
  onTestFinished(async () => {
    admin.disconnect();
    await server.release();
  });
  const web = await consume(['other'], { service: 'web' });
  const mail = await consume(['a'], { service: 'mail' });
  await web.transport.publish([envelope('a')]);
  await until(() => mail.waiting.length === 1);
  for (const lose of [() => admin.flushall(), () => server.stop('SIGKILL').then(() => server.start())]) {
    mail.waiting.splice(0);
    await lose();
    await Promise.all(Array.from({ length: 50 }, () => web.transport.publish([envelope('a')])));
    expect(await counts(web.transport, 'a')).toMatchObject({ received: 50, completed: 0, pending: 50 });
    await until(() => mail.waiting.length === 50);
  }
});
