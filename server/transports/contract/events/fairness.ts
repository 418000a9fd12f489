import { describe, expect, it } from 'vitest';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed } from '../outcome.js';

/** Tests the order in which types and priorities start. */
export function describeFairness({ consume, next, until }: ContractStage): void {
  describe('fairness', () => {
    it('lets types take turns: a flood of one does not delay another', async () => {
      const shop = await consume(['flood', 'small'], { concurrency: 2 });
      await shop.transport.publish(Array.from({ length: 300 }, () => envelope('flood')));
      await until(() => shop.waiting.length === 2);
      await shop.transport.publish([envelope('small'), envelope('small'), envelope('small')]);
      const order: string[] = [];
      while (order.filter((type) => type === 'small').length < 3) {
        const delivery = await next(shop);
        order.push(delivery.envelope.type);
        await delivery.commit(completed());
      }
      expect(order.length).toBeLessThanOrEqual(10);
    });

    it('starts a higher priority first within a type while other types hold the slots', async () => {
      const shop = await consume(['a', 'b'], { concurrency: 1 });
      await shop.transport.publish([envelope('b')]);
      const running = await next(shop);
      const [low, high] = [envelope('a', { priority: -5 }), envelope('a', { priority: 5 })];
      await shop.transport.publish([low]);
      await shop.transport.publish([high]);
      await running.commit(completed());
      for (const expected of [high, low]) {
        const delivery = await next(shop);
        expect(delivery.envelope.id).toBe(expected.id);
        await delivery.commit(completed());
      }
    });

    it('lets types take turns for slots that become free together', async () => {
      const shop = await consume(['flood', 'small'], { concurrency: 20 });
      await shop.transport.publish(Array.from({ length: 100 }, () => envelope('flood')));
      await until(() => shop.waiting.length === 20);
      await shop.transport.publish(Array.from({ length: 20 }, () => envelope('small')));
      await Promise.all(shop.waiting.splice(0).map((delivery) => delivery.commit(completed())));
      await until(() => shop.waiting.length === 20);
      const small = shop.waiting.filter(({ envelope: { type } }) => type === 'small');
      expect(Math.abs(small.length - 10)).toBeLessThanOrEqual(2);
    });

    it('gives a type that was idle no more than its turns', async () => {
      const shop = await consume(['a', 'b', 'idle'], { concurrency: 1 });
      await shop.transport.publish(Array.from({ length: 120 }, (_, n) => envelope(n % 2 === 0 ? 'a' : 'b')));
      for (let n = 0; n < 40; n += 1) await (await next(shop)).commit(completed());
      await shop.transport.publish(Array.from({ length: 20 }, () => envelope('idle')));
      const order: string[] = [];
      for (let n = 0; n < 30; n += 1) {
        const delivery = await next(shop);
        order.push(delivery.envelope.type);
        await delivery.commit(completed());
      }
      for (const type of ['a', 'b', 'idle']) {
        expect(Math.abs(order.filter((each) => each === type).length - 10)).toBeLessThanOrEqual(2);
      }
    });
  });
}
