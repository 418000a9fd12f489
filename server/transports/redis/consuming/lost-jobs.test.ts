import { afterEach, expect, it, vi } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { completed, retry } from '../../contract/outcome.js';
import type { Delivery } from '../../delivery.js';
import { silentLogger } from '../../transport.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, consume, next, prefix, transport, until } = await redisStage({ stalledIntervalMs: 200 });
afterEach(async () => {
  await admin.config('SET', 'maxmemory', '0');
  await admin.call('ACL', 'SETUSER', 'default', '+@all');
});

it.each([
  ['Redis is as usual', () => Promise.resolve()],
  ['the memory of Redis is used up', () => admin.config('SET', 'maxmemory', '1')],
  ['the user may not load functions', () => admin.call('ACL', 'SETUSER', 'default', '-function|load')],
])('notes the start of a lost job, without sending all scripts again, if %s', async (_, change) => {
  const warn = vi.fn();
  const deliveries: Delivery[] = [];
  const shop = transport().connect({ service: 'shop', logger: { ...silentLogger, warn } });
  await shop.start({
    subscriptions: [{ type: 'a' }],
    concurrency: 1,
    onDelivery: (delivery) => deliveries.push(delivery),
  });
  await shop.publish([envelope('a', { id: 'lost' })]);
  await until(() => deliveries.length === 1);
  await change();
  await admin.config('RESETSTAT');
  const job = `{${prefix()}}:queue:shop:e-lost`;
  await admin.del(`${job}:lock`);
  await until(() => deliveries.length === 2);
  await until(async () => (await admin.hget(job, 'started')) === 'shared');
  expect(await deliveries[1]?.commit(completed())).toBe('ok');
  expect(await admin.info('commandstats')).not.toContain('cmdstat_function|load');
  await shop.close({ drainMs: 0 });
  expect(warn.mock.calls).toEqual([]);
});

it('delivers a lost job whose numbers something else has changed', async () => {
  const shop = await consume(['a'], { concurrency: 1 });
  await shop.transport.publish([envelope('a', { id: 'lost' })]);
  await next(shop);
  const job = `{${prefix()}}:queue:shop:e-lost`;
  await admin.hset(job, { atm: 'x', processedOn: 'x' });
  await admin.del(`${job}:lock`);
  expect(await (await next(shop)).commit(completed())).toBe('ok');
});

it.each([
  ['is retried', retry(60_000)],
  ['is released', { status: 'released', durationMs: 1, delayMs: 60_000 } as const],
])('forgets all crashes of a job that %s', async (_, outcome) => {
  const shop = await consume(['a']);
  await shop.transport.publish([envelope('a', { id: 'lost' })]);
  const delivery = await next(shop);
  const job = `{${prefix()}}:queue:shop:e-lost`;
  const crashes = { stc: '1', crashes: '1', started: 'alone', cause: '1' };
  await admin.hset(job, crashes);
  expect(await delivery.commit(outcome)).toBe('ok');
  expect(await admin.hmget(job, ...Object.keys(crashes))).toEqual([null, null, null, null]);
});
