import { describe, expect, it } from 'vitest';
import type { ContractStage } from './contract-stage.js';
import { envelope } from './envelope.js';
import { completed, failed } from './outcome.js';

/** Tests failures, metrics and revisions. */
export function describeStatistics({ consume, next }: ContractStage): void {
  describe('statistics', () => {
    it('retain the last 20 failures, newest first', async () => {
      const shop = await consume(['a']);
      for (let i = 0; i < 25; i += 1) {
        await shop.transport.publish([envelope('a')]);
        await (await next(shop)).commit(failed(`no ${i}`));
      }
      const failures = await shop.transport.failures('a');
      expect(failures.map(({ message }) => message)).toEqual(Array.from({ length: 20 }, (_, i) => `no ${24 - i}`));
      expect(failures[0]).toMatchObject({ attempt: 1, name: 'Error' });
      expect(failures[0]).not.toHaveProperty('payload');
      expect(failures[0]).not.toHaveProperty('body');
    });

    it('count the last hour per minute', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a'), envelope('a')]);
      await (await next(shop)).commit(completed());
      await (await next(shop)).commit(failed('no'));
      const { perMinute } = await shop.transport.metrics('a');
      expect(perMinute).toHaveLength(60);
      const total = perMinute.reduce(
        (sum, { received, completed: done, failed: lost }) => sum + received + done + lost,
        0,
      );
      expect(total).toBe(4);
      const steps = perMinute.slice(1).map(({ at }, index) => at - (perMinute[index]?.at ?? 0));
      expect(new Set(steps)).toEqual(new Set([60_000]));
    });

    it('measure durations with an error of at most 2 %', async () => {
      const shop = await consume(['a']);
      for (let ms = 1; ms <= 100; ms += 1) {
        await shop.transport.publish([envelope('a')]);
        await (await next(shop)).commit({ ...completed(), durationMs: ms });
      }
      const { durationMs } = await shop.transport.metrics('a');
      expect(Math.abs((durationMs.p50 ?? 0) - 50)).toBeLessThanOrEqual(2);
      expect(Math.abs((durationMs.p95 ?? 0) - 95)).toBeLessThanOrEqual(3);
      expect(durationMs.max).toBe(100);
    });

    it('have a revision that changes if and only if they change', async () => {
      const shop = await consume(['a', 'b']);
      const { transport } = shop;
      const revisions = async (): Promise<string[]> => [
        await transport.revision(),
        await transport.revision('a'),
        await transport.revision('b'),
      ];
      const before = await revisions();
      expect(await revisions()).toEqual(before);
      await transport.publish([envelope('a')]);
      const delivery = await next(shop);
      const during = await revisions();
      expect(during[0]).not.toBe(before[0]);
      expect(during[1]).not.toBe(before[1]);
      expect(during[2]).toBe(before[2]);
      await delivery.commit(completed());
      expect((await revisions())[1]).not.toBe(during[1]);
    });
  });
}
