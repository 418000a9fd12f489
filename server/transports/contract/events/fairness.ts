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

    it('gives a type that was idle no more than its turns', async () => {
      const shop = await consume(['a', 'b'], { concurrency: 1 });
      await shop.transport.publish(Array.from({ length: 60 }, () => envelope('a')));
      for (let n = 0; n < 40; n += 1) await (await next(shop)).commit(completed());
      await shop.transport.publish(Array.from({ length: 20 }, () => envelope('b')));
      const order: string[] = [];
      for (let n = 0; n < 20; n += 1) {
        const delivery = await next(shop);
        order.push(delivery.envelope.type);
        await delivery.commit(completed());
      }
      expect(Math.abs(order.filter((type) => type === 'a').length - 10)).toBeLessThanOrEqual(2);
    });
  });
}
