import { describe, expect, it } from 'vitest';
import type { Outcome, Subscription } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry } from '../outcome.js';

const filtered = (): Outcome => ({ ...completed(), filtered: true });

/** Tests that the verdict of a service on an event is recorded: once admitted it stays so, and a refused one completes. */
export function describeConditions(stage: ContractStage): void {
  const { advance, consume, counts, loseLeases, next, until } = stage;

  describe('conditions', () => {
    it('complete a refused event and count it as filtered, without a duration, a failure or a dead letter', async () => {
      const shop = await consume(['a']);
      const [refused, handled] = [envelope('a'), envelope('a')];
      await shop.transport.publish([refused, handled]);
      expect(await (await next(shop)).commit({ ...filtered(), durationMs: 50 })).toBe('ok');
      await (await next(shop)).commit(completed());
      await until(async () => (await counts(shop.transport, 'a')).pending === 0);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, completed: 2, filtered: 1, failed: 0 });
      const metrics = await shop.transport.counts.metrics('a');
      expect(metrics).toMatchObject({ filtered: 1, recent: { last5Min: { completed: 2, failed: 0 } } });
      expect(metrics.durationMs.last5Min.max).toBeLessThan(40);
      const found = await shop.transport.lookup.find(refused.id);
      expect(found).toMatchObject([{ status: 'filtered', isDeadLetter: false }]);
      expect(await shop.transport.lookup.find(handled.id)).toMatchObject([{ status: 'completed' }]);
      expect((await shop.transport.lookup.recent('a')).newest.map(({ status }) => status).sort()).toEqual([
        'completed',
        'filtered',
      ]);
    });

    it('let an admitted event keep its verdict over retries, releases, lost leases and replays', async () => {
      const shop = await consume(['a']);
      const sent = envelope('a');
      await shop.transport.publish([sent]);
      const first = await next(shop);
      expect(first.isAdmitted).toBe(false);
      expect(await first.admit()).toBe('ok');
      expect(await first.admit()).toBe('already');
      await first.commit(retry(0));
      const second = await next(shop);
      expect(second).toMatchObject({ isAdmitted: true, attempt: 2 });
      await second.commit({ status: 'released', durationMs: 1, delayMs: 10 });
      const third = await next(shop);
      expect(third.isAdmitted).toBe(true);
      await third.commit(failed('for good'));
      expect(await third.admit()).toBe('fenced');
      expect(await shop.transport.deadLetters.replay(sent.id)).toBe(true);
      expect(await next(shop)).toMatchObject({ isAdmitted: true, attempt: 1 });
      await loseLeases();
      await shop.transport.close({ drainMs: 0 });
      const restarted = await consume(['a']);
      expect(await next(restarted)).toMatchObject({ isAdmitted: true });
    });

    it('ask again after a lease that ended before the verdict, and fence that lease', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a')]);
      const lost = await next(shop);
      await shop.transport.close({ drainMs: 0 });
      expect(await lost.admit()).toBe('fenced');
      const other = await consume(['a']);
      expect((await next(other)).isAdmitted).toBe(false);
    });

    it.each<[string, Subscription]>([
      ['a type', { type: 'a', rate: { max: 1, perMs: 600_000 } }],
      ['a key', { type: 'a', perKey: { rate: { max: 1, perMs: 600_000 } } }],
      ['a type with a slot', { type: 'a', concurrency: 1, rate: { max: 1, perMs: 600_000 } }],
    ])('take no start of the rate of %s from others', async (_name, subscription) => {
      const shop = await consume([subscription]);
      const sent = Array.from({ length: 3 }, () => envelope('a', { key: 'k' }));
      await shop.transport.publish(sent);
      for (const { id } of sent.slice(0, 2)) {
        const delivery = await next(shop);
        expect(delivery.envelope.id).toBe(id);
        await delivery.commit(filtered());
      }
      expect((await next(shop)).envelope.id).toBe(sent[2]?.id);
      expect(await counts(shop.transport, 'a')).toMatchObject({ filtered: 2, active: 1, pending: 1 });
    });

    it('leave a start that counts in its place', async () => {
      const shop = await consume([{ type: 'a', rate: { max: 2, perMs: 600_000 } }]);
      await shop.transport.publish([envelope('a'), envelope('a'), envelope('a'), envelope('a')]);
      const [handled, refused] = [await next(shop), await next(shop)];
      await handled.commit(completed());
      await refused.commit(filtered());
      await (await next(shop)).commit(completed());
      await advance(50);
      expect(shop.waiting).toEqual([]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ completed: 3, filtered: 1, pending: 1, active: 0 });
    });

    it('keep no record of a refused run, so that it takes the place of no other one', async () => {
      const shop = await consume([
        { type: 'run', retainsRuns: true, retain: { completed: 1, failed: 1 }, triggers: ['a', 'b'] },
      ]);
      const [kept, refused] = [envelope('a'), envelope('b')];
      await shop.transport.publish([kept]);
      const handled = await next(shop);
      await handled.commit({ ...completed(), result: '1' });
      await shop.transport.publish([refused]);
      const delivery = await next(shop);
      const { id } = delivery.envelope;
      await delivery.commit(filtered());
      await until(async () => (await shop.transport.lookup.find(id)).every(({ status }) => status === 'filtered'));
      expect(await shop.transport.lookup.find(id)).toMatchObject([{ status: 'filtered', run: undefined }]);
      expect(await shop.transport.runs.get('run', handled.envelope.id)).toMatchObject({ status: 'completed' });
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 2, completed: 2, filtered: 1, pending: 0 });
    });

    it('tell the end of a refused run to those who wait for it', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      await until(async () => {
        await shop.transport.publish([envelope('run')]);
        const delivery = await next(shop);
        const ended = shop.transport.runs.ended('run', delivery.envelope.id, new AbortController().signal);
        // Of a wait that begins when the run has ended, nothing is known.
        await advance(20);
        await delivery.commit(filtered());
        return (await ended)?.status === 'completed';
      });
    });
  });
}
