import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, retry } from '../outcome.js';

/** Tests what depends on how long an event waits: the count of delayed events, and deduplication until its end. */
export function describeDelays({ advance, consume, counts, next }: ContractStage): void {
  describe('a delay', () => {
    it('is counted apart while an event waits for its delay or its retry', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a', { delayMs: 60_000 }), envelope('a')]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ pending: 2, delayed: 1 });
      await (await next(shop)).commit(retry(60_000));
      expect(await counts(shop.transport, 'a')).toMatchObject({ pending: 2, delayed: 2 });
      await shop.transport.publish([envelope('a', { delayMs: 80 })]);
      await (await next(shop)).commit(completed());
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 3, completed: 1, pending: 2, delayed: 2 });
      expect(await shop.transport.counts.metrics('a')).toMatchObject({ delayed: 2 });
    });
  });

  describe('a deduplication id', () => {
    const once = (delayMs = 0): Envelope => envelope('a', { delayMs, dedupe: { id: 'pay-1', windowMs: 500 } });

    it.each([0, 2_000])('outlasts its window until the event has ended, with a delay of %i ms', async (delayMs) => {
      const shop = await consume(['a']);
      const mail = await consume(['a'], { service: 'mail' });
      const sent = once(delayMs);
      await shop.transport.publish([sent]);
      await advance(600);
      expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
      await (await next(shop)).commit(retry(1_000));
      await (await next(mail)).commit(completed());
      expect(await shop.transport.publish([once()])).toMatchObject([{ deduplicated: true }]);
      await (await next(shop)).commit(completed());
      expect(await shop.transport.publish([once()])).toMatchObject([{ deduplicated: false }]);
    });
  });
}
