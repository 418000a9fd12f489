import { describe, expect, it } from 'vitest';
import type { Delivery, Subscription } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry, suspended } from '../outcome.js';

/** Handler that ignored its timeout. */
interface OverdueHandler {
  readonly end: Promise<void>;
  return(): void;
}

function overdueHandler(): OverdueHandler {
  let settle = (): void => {};
  const end = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return { end, return: () => settle() };
}

/** Tests handlers that ignore their timeout: they keep their concurrency slots until they return. */
export function describeOverdueHandlers({ advance, consume, counts, next }: ContractStage): void {
  describe('a handler that runs on after its outcome', () => {
    it.each<[string, Subscription, number]>([
      ['the slot of its type', { type: 'a', concurrency: 1 }, 100],
      ['the shared slot', { type: 'a' }, 1],
    ])('keeps %s', async (_, subscription, concurrency) => {
      const shop = await consume([subscription], { concurrency });
      await shop.transport.publish([envelope('a'), envelope('a')]);
      const handler = overdueHandler();
      expect(await (await next(shop)).commit(failed('timeout'), handler.end)).toBe('ok');
      expect(await counts(shop.transport, 'a')).toMatchObject({ failed: 1, pending: 1, active: 0 });
      await advance(50);
      expect(shop.waiting).toHaveLength(0);
      handler.return();
      await (await next(shop)).commit(completed());
      expect(await counts(shop.transport, 'a')).toMatchObject({ completed: 1, failed: 1, pending: 0, active: 0 });
    });

    it('keeps the slot of its key', async () => {
      const shop = await consume([{ type: 'a', perKey: { concurrency: 1 } }]);
      const [first, second, other] = [
        envelope('a', { key: 'k' }),
        envelope('a', { key: 'k' }),
        envelope('a', { key: 'o' }),
      ];
      await shop.transport.publish([first, second]);
      const handler = overdueHandler();
      await (await next(shop)).commit(failed('timeout'), handler.end);
      await shop.transport.publish([other]);
      expect((await next(shop)).envelope.id).toBe(other.id);
      await advance(50);
      expect(shop.waiting).toHaveLength(0);
      handler.return();
      expect((await next(shop)).envelope.id).toBe(second.id);
    });

    it.each<[string, Subscription]>([
      ['type', { type: 'a', concurrency: 1 }],
      ['key', { type: 'a', perKey: { concurrency: 1 } }],
    ])('delays the retry of its event if the %s has one slot', async (_, subscription) => {
      const shop = await consume([subscription]);
      await shop.transport.publish([envelope('a', { key: 'k' })]);
      const handler = overdueHandler();
      await (await next(shop)).commit(retry(10), handler.end);
      await advance(50);
      expect(shop.waiting).toHaveLength(0);
      handler.return();
      expect((await next(shop)).attempt).toBe(2);
    });

    it('keeps the shared slot of a run that is suspended, and of one that has ended', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }], { concurrency: 1 });
      await shop.transport.publish([envelope('run'), envelope('run')]);
      const functions = [overdueHandler(), overdueHandler()];
      const first = await next(shop);
      await first.wait([{ key: 'pause', delayMs: 10 }]);
      expect(await first.commit(suspended(0), functions[0]?.end)).toBe('ok');
      await advance(50);
      expect(shop.waiting).toHaveLength(0);
      functions[0]?.return();
      await (await next(shop)).commit(completed(), functions[1]?.end);
      await advance(50);
      expect(shop.waiting).toHaveLength(0);
      functions[1]?.return();
      await (await next(shop)).commit(completed());
      expect(await counts(shop.transport, 'run')).toMatchObject({ completed: 2, pending: 0, active: 0 });
    });

    it('leaves the slot of its key to a run, which may be resumed and followed by the next one', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true, perKey: { concurrency: 1 } }]);
      const [run, following] = [envelope('run', { key: 'k' }), envelope('run', { key: 'k' })];
      await shop.transport.publish([run, following]);
      const hanging = overdueHandler();
      const delivery = await next(shop);
      await delivery.wait([{ key: 'retry', delayMs: 10, isRetry: true }]);
      await delivery.commit(suspended(0), hanging.end);
      const resumed = await next(shop);
      expect(resumed.envelope.id).toBe(run.id);
      await resumed.commit(failed('timeout'), hanging.end);
      const last = await next(shop);
      expect(last.envelope.id).toBe(following.id);
      await last.commit(completed());
      const closing = shop.transport.close({ drainMs: 30 });
      await advance(50);
      expect(await closing).toEqual({ released: 0, overdue: 2 });
      hanging.return();
    });

    it('keeps the slot of its type while processes come and go', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      await shop.transport.publish([envelope('a'), envelope('a')]);
      const handler = overdueHandler();
      await (await next(shop)).commit(failed('timeout'), handler.end);
      const other = await consume([{ type: 'a', concurrency: 1 }, 'b']);
      await advance(50);
      expect(shop.waiting.length + other.waiting.length).toBe(0);
      await other.transport.close({ drainMs: 0 });
      await advance(50);
      expect(shop.waiting).toHaveLength(0);
      handler.return();
      await (await next(shop)).commit(completed());
    });

    it('leaves other slots to other events', async () => {
      const shop = await consume([{ type: 'a', concurrency: 2 }]);
      await shop.transport.publish([envelope('a'), envelope('a'), envelope('a')]);
      const handlers = [overdueHandler(), overdueHandler()];
      await (await next(shop)).commit(failed('timeout'), handlers[0]?.end);
      await (await next(shop)).commit(completed());
      const third: Delivery = await next(shop);
      await third.commit(completed(), handlers[1]?.end);
      for (const handler of handlers) handler.return();
      expect(await shop.transport.close({ drainMs: 60_000 })).toEqual({ released: 0, overdue: 0 });
    });

    it('is waited for when the connection closes, and reported if it does not return', async () => {
      const [one, two] = [await consume(['a']), await consume(['b'])];
      await one.transport.publish([envelope('a'), envelope('b')]);
      const [returning, hanging] = [overdueHandler(), overdueHandler()];
      await (await next(one)).commit(failed('timeout'), returning.end);
      await (await next(two)).commit(failed('timeout'), hanging.end);
      const closing = [one.transport.close({ drainMs: 60_000 }), two.transport.close({ drainMs: 30 })];
      await advance(50);
      returning.return();
      expect(await Promise.all(closing)).toEqual([
        { released: 0, overdue: 0 },
        { released: 0, overdue: 1 },
      ]);
      hanging.return();
    });
  });
}
