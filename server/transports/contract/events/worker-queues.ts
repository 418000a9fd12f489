import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed } from '../outcome.js';

/** Tests when deliveries start: concurrency, rate, order, priority. */
export function describeWorkerQueues({ advance, consume, counts, next, now, until }: ContractStage): void {
  describe('worker queues', () => {
    it('run at most as many deliveries as the connection allows, and the next when one ends', async () => {
      const shop = await consume(['a', 'b'], { concurrency: 2 });
      await shop.transport.publish(Array.from({ length: 8 }, (_, i) => envelope(i % 2 === 0 ? 'a' : 'b')));
      for (let left = 8; left > 0; left -= 1) {
        await until(() => shop.waiting.length >= Math.min(2, left));
        expect(shop.waiting.length).toBe(Math.min(2, left));
        await shop.shift().commit(completed());
      }
    });

    it('start a type with concurrency 1 in order of acceptance, over all connections of the service', async () => {
      const subscription = { type: 'serial', concurrency: 1 };
      const one = await consume([subscription]);
      const two = await consume([subscription]);
      const sent = Array.from({ length: 6 }, () => envelope('serial'));
      await one.transport.publish(sent);
      const order: string[] = [];
      for (let i = 0; i < sent.length; i += 1) {
        await until(() => one.waiting.length + two.waiting.length > 0);
        expect(one.waiting.length + two.waiting.length).toBe(1);
        const delivery = one.waiting.length > 0 ? one.shift() : two.shift();
        order.push(delivery.envelope.id);
        await delivery.commit(completed());
      }
      expect(order).toEqual(sent.map(({ id }) => id));
    });

    it('run a type with its own concurrency while the shared slots are taken', async () => {
      const shop = await consume(['a', { type: 'own', concurrency: 1 }], { concurrency: 1 });
      await shop.transport.publish([envelope('a'), envelope('a'), envelope('own')]);
      const types = [(await next(shop)).envelope.type, (await next(shop)).envelope.type];
      expect(types.sort()).toEqual(['a', 'own']);
    });

    it('start no more than the rate allows per window', async () => {
      const shop = await consume([{ type: 'a', rate: { max: 2, perMs: 200 } }]);
      const from = await now();
      await shop.transport.publish(Array.from({ length: 5 }, () => envelope('a')));
      await until(() => shop.waiting.length > 2);
      expect((await now()) - from).toBeGreaterThanOrEqual(200);
      await until(() => shop.waiting.length > 4);
      expect((await now()) - from).toBeGreaterThanOrEqual(400);
    });

    it('start a higher priority first', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      await shop.transport.publish([envelope('a')]);
      const running = await next(shop);
      const low = envelope('a', { priority: -5 });
      const middle = envelope('a');
      const high = envelope('a', { priority: 5 });
      await shop.transport.publish([low, middle, high]);
      await running.commit(completed());
      for (const expected of [high, middle, low]) {
        const delivery = await next(shop);
        expect(delivery.envelope.id).toBe(expected.id);
        await delivery.commit(completed());
      }
    });
  });

  describe('a changed subscription', () => {
    const own: Subscription = { type: 'a', concurrency: 1 };

    it.each<[string, Partial<Subscription>, Partial<Subscription>]>([
      ['concurrency', { concurrency: 5 }, { concurrency: 2 }],
      ['rate', { rate: { max: 5, perMs: 60_000 } }, { rate: { max: 2, perMs: 50_000 } }],
    ])('sets its %s for all connections of the service', async (_, first, second) => {
      const one = await consume([{ type: 'a', ...first }]);
      const two = await consume([{ type: 'a', ...second }]);
      await one.transport.publish(Array.from({ length: 6 }, () => envelope('a')));
      await until(() => one.waiting.length + two.waiting.length === 2);
      await advance(50);
      expect(one.waiting.length + two.waiting.length).toBe(2);
    });

    it('without the former rate delivers events that were accepted under that rate', async () => {
      const before = await consume([{ type: 'a', rate: { max: 1, perMs: 60_000 } }]);
      await before.transport.publish([envelope('a'), envelope('a'), envelope('a')]);
      await (await next(before)).commit(completed());
      await before.transport.close({ drainMs: 0 });
      const after = await consume(['a']);
      await until(() => after.waiting.length === 2);
    });

    it.each([
      ['gains', ['a', 'b'], [own, 'b']],
      ['loses', [own, 'b'], ['a', 'b']],
    ])('that %s its own worker queue delivers events that were accepted before', async (_, first, second) => {
      const before = await consume(first);
      await before.transport.close({ drainMs: 0 });
      const sent = envelope('a');
      await before.transport.publish([sent, envelope('a', { delayMs: 100 })]);
      const after = await consume(second);
      const delivery = await next(after);
      expect(delivery.envelope.id).toBe(sent.id);
      await delivery.commit(completed());
      await (await next(after)).commit(completed());
      expect(await counts(after.transport, 'a')).toMatchObject({ received: 2, completed: 2, pending: 0 });
    });
  });
}
