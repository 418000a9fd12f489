import { describe, expect, it } from 'vitest';
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

    it('that only triggers a run has a subscriber', async () => {
      const trigger = 'ordered';
      const shop = await consume([{ type: 'run', retainsRuns: true, trigger }]);
      const sent = envelope('ordered');
      expect(await shop.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
    });
  });
}
