import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed } from '../outcome.js';

/** Tests declared types: events for services that have not started yet. */
export function describeSubscribers({ consume, counts, next }: ContractStage): void {
  describe('a declared type', () => {
    it('is kept for its subscribers until they start', async () => {
      const declared = [{ type: 'ordered', subscribers: ['mailer', 'billing'] }];
      const web = await consume([], { service: 'web', declared });
      const sent = envelope('ordered');
      expect(await web.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
      expect(await counts(web.transport, 'ordered')).toMatchObject({
        received: 2,
        completed: 0,
        pending: 2,
        active: 0,
      });
      const mailer = await consume(['ordered'], { service: 'mailer' });
      const delivery = await next(mailer);
      expect(delivery.envelope.id).toBe(sent.id);
      await delivery.commit(completed());
      expect(await counts(web.transport, 'ordered')).toMatchObject({ received: 2, completed: 1, pending: 1 });
    });

    it('is kept after the process that declared it has left, also for a service with limits', async () => {
      const web = await consume([], { service: 'web', declared: [{ type: 'ordered', subscribers: ['mailer'] }] });
      await web.transport.publish([envelope('ordered'), envelope('ordered')]);
      await web.transport.close({ drainMs: 0 });
      const mailer = await consume([{ type: 'ordered', concurrency: 1 }], { service: 'mailer' });
      await (await next(mailer)).commit(completed());
      await (await next(mailer)).commit(completed());
      expect(await counts(mailer.transport, 'ordered')).toMatchObject({ received: 2, completed: 2, pending: 0 });
    });

    it('without subscribers has a receipt that says so, and counts as completed', async () => {
      const web = await consume([], { service: 'web', declared: [{ type: 'ordered', subscribers: [] }] });
      expect(await web.transport.publish([envelope('ordered')])).toMatchObject([{ unsubscribed: true }]);
      expect(await counts(web.transport, 'ordered')).toMatchObject({ received: 1, completed: 1, pending: 0 });
    });

    it.each([
      ['without subscribers', [{ type: 'ordered', subscribers: [] }]],
      ['that only its later service knows', []],
    ])('%s does not use up the deduplication id of an event that nobody receives', async (_, declared) => {
      const once = (): Envelope => envelope('ordered', { dedupe: { id: 'pay-1', windowMs: 3_600_000 } });
      const web = await consume([], { service: 'web', declared });
      const [first, second] = [once(), once()];
      expect(await web.transport.publish([first, second])).toMatchObject([
        { id: first.id, deduplicated: false, unsubscribed: true },
        { id: second.id, deduplicated: false, unsubscribed: true },
      ]);
      const mailer = await consume(['ordered'], { service: 'mailer' });
      const repeated = once();
      expect(await web.transport.publish([repeated])).toEqual([{ id: repeated.id, deduplicated: false }]);
      expect(await web.transport.publish([once()])).toEqual([{ id: repeated.id, deduplicated: true }]);
      const delivery = await next(mailer);
      expect(delivery.envelope.id).toBe(repeated.id);
      await delivery.commit(completed());
      expect(await web.transport.publish([once()])).toEqual([{ id: repeated.id, deduplicated: true }]);
      const counted = { received: 3, completed: 3, pending: 0, deduplicated: 2 };
      expect(await counts(web.transport, 'ordered')).toMatchObject(counted);
    });

    it('uses up the deduplication id of an event that a wait alone receives', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      const once = (): Envelope => envelope('ordered', { dedupe: { id: 'pay-1', windowMs: 3_600_000 } });
      await shop.transport.publish([envelope('run')]);
      await (await next(shop)).wait([{ key: 'wait', event: { type: 'ordered', key: undefined } }]);
      const sent = once();
      expect(await shop.transport.publish([sent])).toMatchObject([{ id: sent.id, deduplicated: false }]);
      expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
    });

    it('that only triggers a run has a subscriber', async () => {
      const trigger = 'ordered';
      const shop = await consume([{ type: 'run', retainsRuns: true, trigger }]);
      const sent = envelope('ordered');
      expect(await shop.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
    });
  });
}
