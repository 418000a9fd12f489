import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import type { Subscription } from '../../delivery.js';
import { silentLogger } from '../../transport.js';
import { redisStage } from '../redis-stage.fixture.js';
import { redisTransport } from '../redis-transport.js';

const { server, admin, prefix, connect, consume, counts, next, until } = await redisStage({ stalledIntervalMs: 200 });
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const key = (...parts: readonly string[]): string => [`{${prefix()}}`, ...parts].join(':');

function members(): Promise<string[]> {
  return admin.zrange(key('members', 'shop'), '0', '-1');
}

/** Does what happens when a process is killed and its lifetime has passed. */
async function expire(ids: readonly string[]): Promise<void> {
  await admin.del(...ids.map((id) => key('process', id)));
}

it.each<[string, Subscription]>([
  ['concurrency', { type: 'a', concurrency: 1 }],
  ['rate', { type: 'a', rate: { max: 1, perMs: 60_000 } }],
])('a heartbeat finds a dead canary and puts the former settings without a %s into effect', async (_, changed) => {
  const one = await consume(['a']);
  const [survivor] = await members();
  // The canary has neither the ping of its channel nor a heartbeat.
  vi.stubGlobal('setInterval', () => {});
  const canary = await consume([changed]);
  vi.unstubAllGlobals();
  await one.transport.publish(Array.from({ length: 5 }, () => envelope('a')));
  await until(() => one.waiting.length + canary.waiting.length === 1);
  await expire((await members()).filter((id) => id !== survivor));
  vi.advanceTimersByTime(5_000);
  await until(() => one.waiting.length + canary.waiting.length === 5);
});

it('rebalances a service if the process that began it has died', async () => {
  const one = await consume(['a', 'b']);
  const [dead] = await members();
  const two = await consume(['a']);
  // The former process is gone, and a third one found it dead but died before it rebalanced the service.
  await expire([String(dead)]);
  await admin.zrem(key('members', 'shop'), String(dead));
  await admin.hincrby(key('settlement', 'shop'), 'changes', 1);
  vi.advanceTimersByTime(5_000);
  await until(
    async () => (await admin.hget(key('dispatch', 'shop/b'), 'isOpen')) !== '1' || (await members()).length === 2,
  );
  await two.transport.publish([envelope('a'), envelope('b')]);
  await until(() => one.waiting.length + two.waiting.length === 2);
  const rebalance = await admin.hgetall(key('settlement', 'shop'));
  expect(rebalance['settled']).toBe(rebalance['changes']);
});

it('moves the queue of a type that only some processes handle, and forgets it afterwards', async () => {
  const both = await consume(['a', 'b']);
  const onlyA = await consume(['a']);
  expect((await admin.smembers(key('queues'))).sort()).toEqual(['shop', 'shop/b']);
  await onlyA.transport.close({ drainMs: 0 });
  vi.advanceTimersByTime(5_000);
  await until(async () => (await admin.smembers(key('queues'))).length === 1);
  await both.transport.publish([envelope('b')]);
  expect((await next(both)).envelope.type).toBe('b');
});

it('returns a job that a process took without handling its type to those that do', async () => {
  const one = await consume(['a']);
  const [lost] = await members();
  await expire([String(lost)]);
  await admin.zrem(key('members', 'shop'), String(lost));
  // As a member of its own this process shares the queue with one that the service has lost sight of.
  const two = await consume(['b'], { concurrency: 1 });
  await two.transport.publish(Array.from({ length: 20 }, () => envelope('b')));
  for (let left = 20; left > 0; left -= 1) await (await next(two)).commit(completed());
  expect(one.waiting).toEqual([]);
  expect(await counts(two.transport, 'b')).toMatchObject({ received: 20, completed: 20, retried: 0 });
});

it('keeps events of declared types for a service that has not started yet', async () => {
  const web = connect('web');
  await web.start({
    subscriptions: [],
    declared: [{ type: 'mail.due', subscribers: ['mailer'] }],
    concurrency: 1,
    onDelivery: () => {},
  });
  const [kept, lost] = await web.publish([envelope('mail.due'), envelope('other')]);
  expect(kept).toEqual({ id: kept?.id, deduplicated: false });
  expect(lost).toEqual({ id: lost?.id, deduplicated: false, unsubscribed: true });
  expect(await counts(web, 'mail.due')).toMatchObject({ received: 1, completed: 0, pending: 1 });
  const mailer = await consume(['mail.due'], { service: 'mailer' });
  expect((await next(mailer)).envelope.id).toBe(kept?.id);
  await web.close({ drainMs: 0 });
});

it('remembers a dedupeId until its event has ended in every service', async () => {
  const mail = await consume(['a'], { service: 'mail' });
  const shop = await consume(['a']);
  const once = () => envelope('a', { delayMs: 50, dedupe: { id: 'x', windowMs: 1 } });
  const sent = once();
  await shop.transport.publish([sent]);
  await delay(10);
  expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
  await (await next(mail)).commit(completed());
  expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
  await (await next(shop)).commit(completed());
  expect(await shop.transport.publish([once()])).toMatchObject([{ deduplicated: false }]);
  expect(await admin.keys(key('dedupe', '*'))).toHaveLength(1);
});

it('starts and stops with 20,000 types', async () => {
  const types = Array.from({ length: 20_000 }, (_, n) => `type ${n}`);
  const one = await consume(types);
  const two = await consume(types.slice(1));
  await one.transport.publish([envelope('type 0'), envelope('type 19999')]);
  await until(() => one.waiting.length + two.waiting.length === 2);
  const shared = () => admin.hget(key('settlement', 'shop'), 'shared');
  expect(await shared()).toBe('19999');
  await two.transport.close({ drainMs: 0 });
  expect(await shared()).toBe('20000');
});

it('refuses to start without the permission to listen to channels, and stops', async () => {
  await admin.acl('SETUSER', 'deaf', 'on', '>secret', '~*', '+@all', 'resetchannels');
  const url = server.url.replace('redis://', 'redis://deaf:secret@');
  const manager = redisTransport({ url, prefix: prefix(), emitTimeoutMs: 60_000 }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  const started = manager.start({ subscriptions: [{ type: 'a' }], concurrency: 1, onDelivery: () => {} });
  await expect(started).rejects.toMatchObject({ name: 'RedisPermissionError' });
  expect(await manager.close({ drainMs: 0 })).toMatchObject({ released: 0 });
});
