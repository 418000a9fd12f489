import { describe, expect, it } from 'vitest';
import type { Delivery, Envelope, Outcome, Subscription } from '../../delivery.js';
import type { TransportManager } from '../../transport.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry, suspended } from '../outcome.js';

/** Tests of events that are skipped while another one of their key is pending, and of those that replace it. */
export function describeOverlaps({ advance, connect, consume, counts, next, until }: ContractStage): void {
  const skipping = (key: string | undefined = 'k', fields: Partial<Envelope> = {}): Envelope =>
    envelope('a', { key, overlap: 'skip', ...fields });

  /** Publishes an event, and expects that it is skipped in favour of another one, or that it is accepted. */
  const publishes = async (transport: TransportManager, sent: Envelope, earlierId?: string): Promise<void> => {
    const receipt =
      earlierId === undefined ? { id: sent.id, deduplicated: false } : { id: earlierId, deduplicated: true };
    expect(await transport.publish([sent])).toEqual([receipt]);
  };

  const end = async (shop: Consumption, outcome: Outcome = completed()): Promise<Delivery> => {
    const delivery = await next(shop);
    expect(await delivery.commit(outcome)).toBe('ok');
    return delivery;
  };

  describe('events that skip', () => {
    const states: [string, Partial<Envelope>, (shop: Consumption) => Promise<unknown>][] = [
      ['is delayed', { delayMs: 60_000 }, async () => {}],
      ['runs', {}, (shop) => next(shop)],
      ['waits for its retry', {}, (shop) => end(shop, retry(60_000))],
    ];

    it.each(states)(
      'are not accepted while an event of their key %s, and are again when it has ended',
      async (_, fields, act) => {
        const shop = await consume(['a']);
        const web = connect('web');
        const first = skipping('k', fields);
        await publishes(web, first);
        await act(shop);
        await publishes(web, skipping(), first.id);
        await publishes(shop.transport, skipping(), first.id);
        expect(await counts(web, 'a')).toMatchObject({ received: 1, pending: 1, deduplicated: 2 });
        await publishes(web, skipping('other'));
        const error = { name: 'CancelledError', message: 'cancelled' };
        const cancelled = { status: 'failed', cancelled: true, durationMs: 0, error, followUps: [] } as const;
        expect(await web.runs.cancel(first.id, () => cancelled, 'shop')).toBe(true);
        await publishes(web, skipping());
        await web.close({ drainMs: 0 });
      },
    );

    it.each([completed(), failed('broken')])(
      'are accepted after an event of their key with the outcome %j',
      async (outcome) => {
        const shop = await consume([{ type: 'a', concurrency: 1 }]);
        const [blocking, first] = [envelope('a', { key: 'b' }), skipping()];
        await shop.transport.publish([blocking]);
        const blocker = await next(shop);
        await publishes(shop.transport, first);
        await publishes(shop.transport, skipping(), first.id);
        await blocker.commit(completed());
        await end(shop, outcome);
        const following = skipping();
        await publishes(shop.transport, following);
        await publishes(shop.transport, skipping(), following.id);
      },
    );

    it('are not accepted while a run of their key is suspended', async () => {
      const shop = await consume([{ type: 'a', retainsRuns: true }]);
      const first = skipping();
      await publishes(shop.transport, first);
      const delivery = await next(shop);
      await delivery.wait([{ key: 'pause', delayMs: 300 }]);
      expect(await delivery.commit(suspended(0))).toBe('ok');
      await publishes(shop.transport, skipping(), first.id);
      await until(() => shop.waiting.length === 1);
      await publishes(shop.transport, skipping(), first.id);
      await end(shop);
      await publishes(shop.transport, skipping());
    });

    it('are not accepted until the event of their key has ended in every service', async () => {
      const shop = await consume(['a']);
      const mail = await consume(['a'], { service: 'mail' });
      const first = skipping();
      await publishes(shop.transport, first);
      await end(shop);
      await publishes(shop.transport, skipping(), first.id);
      await end(mail, retry(0));
      await publishes(shop.transport, skipping(), first.id);
      await end(mail, failed('broken'));
      await publishes(shop.transport, skipping());
    });

    it('are not accepted while an event of their key waits for another connection', async () => {
      const shop = await consume(['a']);
      const first = skipping();
      await publishes(shop.transport, first);
      await next(shop);
      await shop.transport.close({ drainMs: 0 });
      const other = await consume(['a']);
      await publishes(other.transport, skipping(), first.id);
      await end(other);
      await publishes(other.transport, skipping());
    });

    it('are decided one after the other if they are published together, emitted by an outcome or by a step', async () => {
      const shop = await consume(['a', { type: 'run', retainsRuns: true }]);
      const [one, two] = [skipping('one'), skipping('two')];
      const receipts = await shop.transport.publish([one, skipping('one'), two, skipping('one')]);
      expect(receipts.map(({ id }) => id)).toEqual([one.id, one.id, two.id, one.id]);
      await shop.transport.publish([envelope('run')]);
      await until(() => shop.waiting.length === 3);
      const run = shop.waiting.find(({ envelope: { type } }) => type === 'run');
      await run?.checkpoint('step', '{}', [skipping('one'), skipping('three'), skipping('three')]);
      await run?.commit(completed([skipping('two'), skipping('four'), skipping('four')]));
      await until(async () => (await counts(shop.transport, 'a')).received === 4);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 4, pending: 4, deduplicated: 6 });
    });

    it('are decided after their deduplication id', async () => {
      const shop = await consume(['a']);
      const dedupe = { id: 'once', windowMs: 60_000 };
      const [first, second] = [skipping('one', { dedupe }), skipping('two')];
      await publishes(shop.transport, first);
      await publishes(shop.transport, second);
      await publishes(shop.transport, skipping('two', { dedupe }), first.id);
      await publishes(shop.transport, skipping('one'), first.id);
      await end(shop);
      await publishes(shop.transport, skipping('one', { dedupe }), first.id);
      await publishes(shop.transport, skipping('one'));
    });

    it('are accepted without a key, and beside events of their key that do not skip', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a', { key: 'k' })]);
      const first = skipping();
      await publishes(shop.transport, first);
      await publishes(shop.transport, envelope('a', { key: 'k' }));
      await publishes(shop.transport, skipping(), first.id);
      const keyless: Envelope = envelope('a', { overlap: 'skip' });
      await publishes(shop.transport, keyless);
      await publishes(shop.transport, envelope('a', { overlap: 'skip' }));
      await publishes(shop.transport, skipping(''));
    });

    it('are accepted when they are replayed, and count then', async () => {
      const shop = await consume(['a']);
      const [first, second] = [skipping(), skipping()];
      await publishes(shop.transport, first);
      await end(shop, failed('broken'));
      await publishes(shop.transport, second);
      expect(await shop.transport.deadLetters.replay(first.id)).toBe(true);
      await until(() => shop.waiting.length === 2);
      for (const { envelope: sent } of shop.waiting) expect([first.id, second.id]).toContain(sent.id);
      await end(shop);
      await publishes(shop.transport, skipping(), second.id);
      await end(shop, failed('broken'));
      for (const { envelope: dead } of await shop.transport.deadLetters.list('a', 10)) {
        const { id } = dead;
        expect(await shop.transport.deadLetters.replay(id)).toBe(true);
        await publishes(shop.transport, skipping(), id);
        await end(shop);
      }
      await publishes(shop.transport, skipping());
    });

    it('are decided when a schedule is due', async () => {
      const shop = await consume(['a']);
      const schedule = { name: 'nightly', definition: 'd-1', times: 't-1' };
      const first = skipping();
      for (const [dueAt, events] of [
        [1_000, [first]],
        [2_000, [skipping()]],
      ] as const) {
        expect(await shop.transport.schedules.claim({ ...schedule, dueAt, events })).toEqual({ status: 'claimed' });
      }
      expect((await next(shop)).envelope.id).toBe(first.id);
      await advance(50);
      expect(shop.waiting).toEqual([]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, deduplicated: 1 });
    });
  });

  describe('events that replace', () => {
    const replacing = (key: string | undefined = 'k', fields: Partial<Envelope> = {}): Envelope =>
      envelope('a', { key, overlap: 'replace', ...fields });
    const perKey: Subscription = { type: 'a', perKey: { concurrency: 1 } };

    const isCancelled = async (transport: TransportManager, ids: readonly string[]): Promise<void> => {
      const message = 'event of type "a" was cancelled: a newer one of its key replaced it';
      const error = { name: 'CancelledError', code: 'ERR_CANCELLED', message };
      for (const id of ids) {
        const found = await transport.lookup.find(id);
        expect(found.length).toBeGreaterThan(0);
        for (const { status, error: shown } of found)
          expect({ status, error: shown }).toMatchObject({ status: 'cancelled', error });
      }
    };

    const states: [string, Partial<Envelope>, (shop: Consumption) => Promise<unknown>][] = [
      ['is delayed', { delayMs: 60_000 }, async () => {}],
      ['waits for its retry', {}, (shop) => end(shop, retry(60_000))],
    ];

    it.each(states)('are accepted in place of an event of their key that %s', async (_, fields, act) => {
      const shop = await consume([perKey]);
      const web = connect('web');
      const [first, other] = [replacing('k', fields), replacing('other', { delayMs: 60_000 })];
      await publishes(web, first);
      await act(shop);
      await publishes(web, other);
      const second = replacing();
      await publishes(web, second);
      expect((await end(shop)).envelope.id).toBe(second.id);
      await isCancelled(web, [first.id]);
      expect(await counts(web, 'a')).toMatchObject({
        received: 3,
        completed: 1,
        cancelled: 1,
        pending: 1,
        deduplicated: 0,
      });
      expect(await shop.transport.deadLetters.list('a', 10)).toEqual([]);
      await web.close({ drainMs: 0 });
    });

    it('start when the handler of the event that they replace has returned', async () => {
      const shop = await consume([perKey]);
      const web = connect('web');
      const [first, second, third] = [replacing(), replacing(), replacing()];
      await publishes(web, first);
      const running = await next(shop);
      const reasons: Error[] = [];
      let finish = (): void => {};
      running.onRevoked = (reason) => {
        reasons.push(reason);
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      };
      await publishes(web, second);
      await publishes(web, third);
      await until(() => reasons.length === 1);
      expect(reasons).toMatchObject([{ name: 'CancelledError' }]);
      expect(await running.commit(completed([envelope('a')]))).toBe('already');
      await advance(50);
      expect(shop.waiting).toEqual([]);
      expect(await counts(web, 'a')).toMatchObject({ received: 3, cancelled: 2, pending: 1, active: 0 });
      finish();
      expect((await end(shop)).envelope.id).toBe(third.id);
      await isCancelled(web, [first.id, second.id]);
      await web.close({ drainMs: 0 });
    });

    it('end a suspended run and the child runs that it waits for', async () => {
      const shop = await consume([{ ...perKey, retainsRuns: true }, { type: 'child', retainsRuns: true }, 'told']);
      const first = replacing();
      await publishes(shop.transport, first);
      const delivery = await next(shop);
      const run = envelope('child', { parent: { type: 'a', id: first.id, wait: 'one' } });
      await delivery.wait([{ key: 'one', run, onCancel: [envelope('told')] }]);
      expect(await delivery.commit(suspended(0))).toBe('ok');
      const child = await next(shop);
      expect(child.envelope.type).toBe('child');
      let isRevoked = false;
      child.onRevoked = () => {
        isRevoked = true;
        return undefined;
      };
      const second = replacing();
      await publishes(shop.transport, second);
      await until(() => isRevoked && shop.waiting.length === 2);
      expect(shop.waiting.map(({ envelope: { type } }) => type).sort()).toEqual(['a', 'told']);
      expect(await shop.transport.runs.get('a', first.id)).toMatchObject({
        status: 'failed',
        error: { name: 'CancelledError' },
      });
      expect(await shop.transport.runs.get('child', run.id)).toMatchObject({ status: 'failed' });
      expect(await counts(shop.transport, 'child')).toMatchObject({ cancelled: 1, pending: 0 });
      expect(await counts(shop.transport, 'a')).toMatchObject({ cancelled: 1, pending: 1, suspended: 0 });
    });

    it('cancel the copies of all services', async () => {
      const shop = await consume([perKey]);
      const mail = await consume([perKey], { service: 'mail' });
      const [first, second] = [replacing(), replacing()];
      await publishes(shop.transport, first);
      await end(shop, retry(60_000));
      const running = await next(mail);
      await publishes(mail.transport, second);
      expect((await end(shop)).envelope.id).toBe(second.id);
      expect((await end(mail)).envelope.id).toBe(second.id);
      expect(await running.commit(completed())).toBe('already');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 4, completed: 2, cancelled: 2, pending: 0 });
    });

    it('are decided one after the other if they are published together, emitted by an outcome or by a step', async () => {
      const shop = await consume([perKey, { type: 'run', retainsRuns: true }]);
      const sent = [replacing(), replacing(), replacing('two'), replacing()];
      const receipts = await shop.transport.publish(sent);
      expect(receipts.map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
      await isCancelled(shop.transport, [sent[0]?.id ?? '', sent[1]?.id ?? '']);
      await shop.transport.publish([envelope('run')]);
      await until(() => shop.waiting.length === 3);
      const run = shop.waiting.find(({ envelope: { type } }) => type === 'run');
      await run?.checkpoint('step', '{}', [replacing('two'), replacing('three')]);
      await run?.commit(completed([replacing('three'), replacing('four')]));
      await until(async () => (await counts(shop.transport, 'a')).received === 8);
      expect(await counts(shop.transport, 'a')).toMatchObject({
        received: 8,
        cancelled: 4,
        pending: 4,
        deduplicated: 0,
      });
    });

    it('end the event whose own outcome or step emitted them', async () => {
      const shop = await consume([{ ...perKey, retainsRuns: true }]);
      const [first, second, third] = [replacing(), replacing(), replacing()];
      await publishes(shop.transport, first);
      const run = await next(shop);
      run.onRevoked = () => undefined;
      await run.checkpoint('step', '{}', [second]);
      const following = await next(shop);
      expect(following.envelope.id).toBe(second.id);
      expect(await run.commit(completed())).not.toBe('ok');
      expect(await following.commit(completed([third]))).toBe('ok');
      expect((await end(shop)).envelope.id).toBe(third.id);
      await until(async () => (await counts(shop.transport, 'a')).pending === 0);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 3, completed: 2, cancelled: 1 });
    });

    it('cancel replayed events too, and a replayed event cancels none', async () => {
      const shop = await consume([{ type: 'a', perKey: { concurrency: 2 } }]);
      const [first, second, third] = [replacing(), replacing(), replacing()];
      await publishes(shop.transport, first);
      await end(shop, failed('broken'));
      await publishes(shop.transport, second);
      expect(await shop.transport.deadLetters.replay(first.id)).toBe(true);
      await until(() => shop.waiting.length === 2);
      await publishes(shop.transport, third);
      await isCancelled(shop.transport, [second.id]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 4, cancelled: 2, pending: 1 });
      await until(() => shop.waiting.length === 3);
      expect(await shop.waiting[2]?.commit(completed())).toBe('ok');
      await publishes(shop.transport, replacing());
    });

    it('are decided after their deduplication id, and beside events that skip, or that have no key or no overlap', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      await publishes(shop.transport, envelope('a', { key: 'k' }));
      const dedupe = { id: 'once', windowMs: 60_000 };
      const [first, second, third] = [replacing('k', { dedupe }), skipping(), replacing()];
      await publishes(shop.transport, first);
      await publishes(shop.transport, replacing('k', { dedupe }), first.id);
      await publishes(shop.transport, second, first.id);
      const keyless: Envelope = envelope('a', { overlap: 'replace' });
      await publishes(shop.transport, keyless);
      await publishes(shop.transport, envelope('a', { overlap: 'replace' }));
      await publishes(shop.transport, third);
      await publishes(shop.transport, skipping(), third.id);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 5, cancelled: 1, deduplicated: 3 });
    });

    it('are decided when a schedule is due', async () => {
      const shop = await consume([perKey]);
      const schedule = { name: 'nightly', definition: 'd-1', times: 't-1' };
      const [first, second] = [replacing('k', { delayMs: 60_000 }), replacing()];
      for (const [dueAt, events] of [
        [1_000, [first]],
        [2_000, [second]],
      ] as const) {
        expect(await shop.transport.schedules.claim({ ...schedule, dueAt, events })).toEqual({ status: 'claimed' });
      }
      expect((await end(shop)).envelope.id).toBe(second.id);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, cancelled: 1 });
    });
  });
}
