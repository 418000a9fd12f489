import { expect, it } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { completed, failed, retry } from '../../contract/outcome.js';
import type { Envelope } from '../../delivery.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, consume, counts, next, until } = await redisStage();

const half = '\ud800';

const unstorable: [string, Partial<Envelope>][] = [
  ['an id', { id: half }],
  ['a type', { type: half }],
  ['a deduplication id', { dedupe: { id: half, windowMs: 1 } }],
  ['a deduplication window', { dedupe: { id: 'x', windowMs: Number.MAX_VALUE } }],
  ['a delay', { delayMs: Number.MAX_VALUE }],
  ['no number as a delay', { delayMs: Number.NaN }],
];

it.each(unstorable)('rejects %s that cannot be stored, and accepts the rest of the turn', async (_, fields) => {
  const shop = await consume(['a']);
  const results = await Promise.allSettled([
    shop.transport.publish([envelope('a')]),
    shop.transport.publish([envelope('a'), envelope('a', fields)]),
    shop.transport.publish([envelope('a')]),
  ]);
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'ERR_INVALID_OPTION' } },
    { status: 'fulfilled' },
  ]);
  expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, pending: 2 });
});

it('rejects an outcome that cannot be stored, and records the rest of the turn', async () => {
  const shop = await consume(['a']);
  await shop.transport.publish([envelope('a'), envelope('a'), envelope('a')]);
  await until(() => shop.waiting.length === 3);
  const [first, second, third] = [await next(shop), await next(shop), await next(shop)];
  const results = await Promise.allSettled([
    first.commit(completed()),
    second.commit(completed([envelope('a', { id: half })])),
    third.commit(retry(Number.MAX_VALUE)),
  ]);
  expect(results).toMatchObject([{ value: 'ok' }, { status: 'rejected' }, { status: 'rejected' }]);
  // The leases last: a storable outcome is recorded.
  expect(await second.commit(failed('no'))).toBe('ok');
  expect(await third.commit(failed('no'))).toBe('ok');
  expect(await counts(shop.transport, 'a')).toMatchObject({ received: 3, completed: 1, failed: 2, pending: 0 });
});

it.each([
  ['replay', (manager: Manager) => manager.deadLetters.replay(half)],
  ['run', (manager: Manager) => manager.runs.get('a', half)],
  ['counts', (manager: Manager) => manager.counts.get([half])],
])('%s rejects an id that cannot be stored', async (_, call) => {
  const shop = await consume(['a']);
  await expect(call(shop.transport)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
});

type Manager = Awaited<ReturnType<typeof consume>>['transport'];

it('sends large events of one turn in several scripts', async () => {
  const shop = await consume(['a'], { concurrency: 1 });
  const body = JSON.stringify('x'.repeat(400_000));
  await admin.config('RESETSTAT');
  await Promise.all(Array.from({ length: 10 }, () => shop.transport.publish([envelope('a', { body })])));
  const calls = /cmdstat_fcall:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1];
  expect(Number(calls)).toBeGreaterThanOrEqual(5);
  expect(await counts(shop.transport, 'a')).toMatchObject({ received: 10 });
});
