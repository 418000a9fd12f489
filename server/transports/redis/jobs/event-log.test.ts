import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { completed, failed } from '../../contract/outcome.js';
import type { Delivery, Outcome } from '../../delivery.js';
import { retainedRecent } from '../../limits.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import { redisTransport } from '../redis-transport.js';
import { startTestRedis } from '../test-redis.fixture.js';

const { server, admin } = await startTestRedis();

/** Returns the number of ids in the index. */
async function placesUnder(prefix: string): Promise<number> {
  const slots = await admin.keys(`{${prefix}}:places:*`);
  return (await Promise.all(slots.map((slot) => admin.hlen(slot)))).reduce((sum, count) => sum + count, 0);
}

it('retains a bounded number of records and members of the index, dead letters that Redis deletes included', async () => {
  const prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix, maxDeadLetterAgeMs: 200, emitTimeoutMs: 60_000 });
  const shop = transport.connect({ service: 'shop', logger: silentLogger });
  onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
  await shop.start({
    concurrency: 20,
    subscriptions: [{ type: 'a' }],
    onDelivery: (delivery) => void delivery.commit(delivery.envelope.body === '1' ? failed('no') : completed()),
  });
  const key = (name: string): string => `{${prefix}}:${name}`;
  const pending = async (): Promise<number> => (await shop.counts.get(['a']))[0]?.total.pending ?? 0;
  for (let batch = 0; batch < 6; batch += 1) {
    await shop.publish(
      Array.from({ length: 100 }, (_, index) => envelope('a', { requestId: randomUUID(), body: String(index % 2) })),
    );
    await vi.waitFor(async () => expect(await pending()).toBe(0), 20_000);
  }
  await shop.publish([envelope('a')]);
  await vi.waitFor(async () => {
    // Reads and failures remove what has expired.
    await shop.deadLetters.list('a', 1);
    expect(await admin.zcard(key('requests'))).toBeLessThanOrEqual(2 * (retainedRecent + 10));
    expect(await placesUnder(prefix)).toBeLessThanOrEqual(2 * (retainedRecent + 10));
    expect(await admin.zcard(key('index-ends:shop/a'))).toBe(0);
  }, 20_000);
  expect(await admin.hlen(key('records:shop/a'))).toBeLessThanOrEqual(2 * (retainedRecent + 10));
  for (const status of ['completed', 'failed'])
    expect(await admin.llen(key(`recent:shop/a:${status}`))).toBeLessThanOrEqual(retainedRecent + 10);
});

it('has no member for a dead letter that is evicted while those who wait can still read the end of its run', async () => {
  const prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix, maxDeadLetters: 1, emitTimeoutMs: 60_000 });
  const shop = transport.connect({ service: 'shop', logger: silentLogger });
  onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
  await shop.start({
    concurrency: 1,
    subscriptions: [{ type: 'run', retainsRuns: true, retain: { completed: 0, failed: 0 } }],
    onDelivery: (delivery) => void delivery.commit(failed('no')),
  });
  await shop.publish(Array.from({ length: 5 }, () => envelope('run', { requestId: randomUUID() })));
  await vi.waitFor(async () => expect((await shop.counts.get(['run']))[0]?.total.failed).toBe(5), 20_000);
  expect(await admin.zcard(`{${prefix}}:requests`)).toBe(1);
  expect(await placesUnder(prefix)).toBe(1);
});

it('has no member for a run whose age has ended while those who wait can still read its end', async () => {
  const prefix = randomUUID();
  const shop = redisTransport({ url: server.url, prefix, emitTimeoutMs: 60_000 }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
  await shop.start({
    concurrency: 1,
    subscriptions: [{ type: 'run', retainsRuns: true, retain: { completed: 9, failed: 9, ageMs: 1 } }],
    onDelivery: (delivery) => void delivery.commit(delivery.envelope.body === '1' ? failed('no') : completed()),
  });
  const end = async (body: string): Promise<string> => {
    const sent = envelope('run', { requestId: randomUUID(), body });
    await shop.publish([sent]);
    await vi.waitFor(async () => expect(await shop.runs.get('run', sent.id)).toBeUndefined(), 20_000);
    return sent.id;
  };
  const id = await end('0');
  await end('1');
  // Redis does so when nobody can wait for it any more.
  await admin.del(...(await admin.keys(`{${prefix}}:run:shop/run:e-${id}*`)));
  await end('0');
  const members = await admin.zrange(`{${prefix}}:requests`, '0', '-1');
  expect(members.filter((member) => member.endsWith(` e-${id}`))).toEqual([]);
  // Those of the dead letter and of the last run.
  expect(await placesUnder(prefix)).toBe(2);
});

it('has the places of an event until the last service has dropped it, replays included', async () => {
  const prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix, emitTimeoutMs: 60_000 });
  const connect = async (service: string, end: () => Outcome): Promise<TransportManager> => {
    const manager = transport.connect({ service, logger: silentLogger });
    onTestFinished(async () => void (await manager.close({ drainMs: 0 })));
    const onDelivery = (delivery: Delivery): void => void delivery.commit(end());
    await manager.start({ concurrency: 1, subscriptions: [{ type: 'a' }, { type: 'b' }], onDelivery });
    return manager;
  };
  let fails = true;
  const shop = await connect('shop', () => (fails ? failed('no') : completed()));
  const mail = await connect('mail', () => completed());
  const sent = envelope('a', { id: 'one' });
  const ends = async (type: string, count: number): Promise<void> =>
    vi.waitFor(async () => {
      const [counts] = await shop.counts.get([type]);
      expect(counts?.total.completed).toBe(count);
    }, 20_000);
  await mail.publish([sent]);
  await ends('a', 1);
  await vi.waitFor(async () => expect(await shop.deadLetters.list('a', 1)).toHaveLength(1), 20_000);
  expect(await placesUnder(prefix)).toBe(1);
  expect(await shop.lookup.find('one')).toMatchObject([
    { service: expect.any(String) },
    { service: expect.any(String) },
  ]);
  fails = false;
  expect(await shop.deadLetters.replay('one')).toBe(true);
  await ends('a', 2);
  expect(await shop.lookup.find('one')).toHaveLength(2);
  // They evict it in both services.
  await mail.publish(Array.from({ length: 2 * retainedRecent }, () => envelope('a')));
  await ends('a', 2 + 4 * retainedRecent);
  expect(await shop.lookup.find('one')).toEqual([]);
});
