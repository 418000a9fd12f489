import { describe, expect, it } from 'vitest';
import type { Delivery, Envelope, RunWait, Subscription } from '../../delivery.js';
import type { TransportManager } from '../../transport.js';
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

    it.each<[string, Partial<Envelope>, readonly RunWait[]]>([
      ['a wait for the type', {}, [{ key: 'wait', event: { type: 'ordered', key: undefined } }]],
      ['a wait for the key', {}, [{ key: 'wait', event: { type: 'ordered', key: 'o-1' } }]],
      ['an approval', {}, [{ key: 'approval', event: { type: 'ordered', key: 'o-1' }, isApproval: true }]],
      ['the inbox of a run', { receives: [{ type: 'ordered', key: 'o-1' }] }, []],
    ])('that %s alone receives has a receiver, and uses up its deduplication id', async (_, fields, waits) => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      const once = (key = 'o-1'): Envelope =>
        envelope('ordered', { key, dedupe: { id: `pay-${key}`, windowMs: 3_600_000 } });
      await shop.transport.publish([envelope('run', fields)]);
      const delivery = await next(shop);
      if (waits.length > 0) await delivery.wait(waits);
      const sent = once();
      expect(await shop.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
      expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
      expect(await counts(shop.transport, 'ordered')).toMatchObject({ received: 1, completed: 1, pending: 0 });
      await delivery.commit(completed());
      const unheard = once('o-2');
      const lost = { id: unheard.id, deduplicated: false, unsubscribed: true };
      expect(await shop.transport.publish([unheard])).toEqual([lost]);
    });

    const trigger = 'ordered';
    const workflow: Subscription = { type: 'run', retainsRuns: true, triggers: [trigger] };
    const declared = [{ type: 'ordered', subscribers: ['shop'] }];
    const pendingOf = async (transport: TransportManager): Promise<unknown> => {
      const { received, completed, failed, pending } = await counts(transport, 'ordered');
      return { received, completed, failed, pending };
    };

    it('starts the runs of a subscriber whose workflows alone receive it, in the order of acceptance', async () => {
      const web = await consume([], { service: 'web', declared });
      const sent = Array.from({ length: 5 }, (_, n) => envelope('ordered', { key: `o-${n}`, body: `{"n":${n}}` }));
      await web.transport.publish(sent);
      expect(await pendingOf(web.transport)).toEqual({ received: 5, completed: 0, failed: 0, pending: 5 });
      const shop = await consume([workflow, { type: 'other', retainsRuns: true, triggers: [trigger] }]);
      const started: Delivery[] = [];
      while (started.length < 10) started.push(await next(shop));
      const ofRun = started.map((each) => each.envelope).filter(({ type }) => type === 'run');
      const facts = ({ causeId, key, body, depth }: Envelope): unknown => ({ causeId, key, body, depth });
      expect(ofRun.map(facts)).toEqual(sent.map(({ id, key, body }) => ({ causeId: id, key, body, depth: 1 })));
      expect(await pendingOf(web.transport)).toEqual({ received: 5, completed: 5, failed: 0, pending: 0 });
      expect((await shop.transport.counts.metrics('ordered')).durationMs.lastHour.p50).toBeNull();
      for (const delivery of started) await delivery.commit(completed());

      // From now on its runs start at once, also if another process declares the type.
      await consume([], { service: 'web', declared });
      const later = envelope('ordered');
      expect(await shop.transport.publish([later])).toEqual([{ id: later.id, deduplicated: false }]);
      expect((await next(shop)).envelope.causeId).toBe(later.id);
      expect((await next(shop)).envelope.causeId).toBe(later.id);
      expect(await pendingOf(web.transport)).toEqual({ received: 6, completed: 6, failed: 0, pending: 0 });
    });

    it('starts the runs of a subscriber that handles it as well', async () => {
      const web = await consume([], { service: 'web', declared });
      const [sent, delayed] = [envelope('ordered'), envelope('ordered', { delayMs: 40 })];
      await web.transport.publish([sent, delayed]);
      const shop = await consume(['ordered', workflow]);
      const deliveries = [await next(shop), await next(shop), await next(shop), await next(shop)];
      const facts = deliveries.map(({ envelope: { type, id, causeId } }) => `${type} ${causeId ?? id}`);
      expect(facts.sort()).toEqual([sent, delayed].flatMap(({ id }) => [`ordered ${id}`, `run ${id}`]).sort());
      for (const delivery of deliveries) await delivery.commit(completed());
      expect(await pendingOf(web.transport)).toEqual({ received: 2, completed: 2, failed: 0, pending: 0 });
      await consume(['ordered', workflow]);
      expect(shop.waiting).toEqual([]);
    });

    it('does not start runs of what an earlier version of the subscriber had to handle', async () => {
      const web = await consume([], { service: 'web', declared });
      const first = await consume(['ordered']);
      await first.transport.close({ drainMs: 0 });
      await web.transport.publish([envelope('ordered')]);
      const shop = await consume(['ordered', workflow]);
      await (await next(shop)).commit(completed());
      expect(await counts(web.transport, 'run')).toMatchObject({ received: 0 });
    });

    it('that only triggers a run has a subscriber', async () => {
      const shop = await consume([workflow]);
      const sent = envelope('ordered');
      expect(await shop.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
    });
  });
}
