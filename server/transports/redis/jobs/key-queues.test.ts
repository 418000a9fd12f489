import { expect, it } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { completed, retry } from '../../contract/outcome.js';
import type { Delivery, Subscription } from '../../delivery.js';
import { redisKey } from '../connection/keys.js';
import { scripts } from '../connection/script.js';
import type { Lease } from '../consuming/lease-recorder.js';
import { RedisDelivery } from '../consuming/redis-delivery.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, prefix, consume, next, until } = await redisStage();
const hashTag = (): string => `{${prefix()}}`;

function leaseOf(delivery: Delivery): Lease {
  if (!(delivery instanceof RedisDelivery)) throw new Error('no delivery of Redis');
  return delivery.lease;
}

const dispatch = (field: string): Promise<string | null> =>
  admin.hget(redisKey(hashTag(), 'dispatch', 'shop/a'), field);

it('takes back the start that a rate per key counted if the handler did not start', async () => {
  const shop = await consume([{ type: 'a', perKey: { rate: { max: 1, perMs: 60_000 } } }]);
  await shop.transport.publish([envelope('a', { key: 'k' })]);
  const { queue, jobId, token } = leaseOf(await next(shop));
  await scripts.requeueJob.run(admin, hashTag(), [queue, jobId, token, 10]);
  const again = await next(shop);
  expect(leaseOf(again).jobId).toBe(jobId);
  expect(await again.commit(completed())).toBe('ok');
});

it('ends the state of a type that lost its key with the last event that holds a slot', async () => {
  const keyed: Subscription = { type: 'a', perKey: { concurrency: 1 } };
  const before = await consume([keyed]);
  const sent = Array.from({ length: 3 }, () => envelope('a', { key: 'k' }));
  await before.transport.publish(sent);
  const held = await next(before);
  expect(await dispatch('hadKeys')).toBe('1');
  const after = await consume(['a']);
  await before.transport.close({ drainMs: 0 });
  const delivered = [await next(after), await next(after), await next(after)];
  expect(await dispatch('hadKeys')).toBe('1');
  for (const delivery of delivered) {
    if (delivery.envelope.id !== held.envelope.id) await delivery.commit(completed());
  }
  const last = delivered.find((delivery) => delivery.envelope.id === held.envelope.id);
  await last?.commit(retry(0));
  const retried = await next(after);
  expect(await dispatch('hadKeys')).toBe('1');
  await retried.commit(completed());
  await until(async () => (await dispatch('hadKeys')) === null);
});
