import { describe, expect, it } from 'vitest';
import type { Envelope, FailedOutcome, Subscription } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, retry } from '../outcome.js';

/** Tests of ending events that wait or run. */
export function describeCancel({ advance, connect, consume, counts, inTime, next, until }: ContractStage): void {
  const cancelled = (followUps: readonly Envelope[] = []): (() => FailedOutcome) => {
    const error = { name: 'CancelledError', message: 'cancelled' };
    return () => ({ status: 'failed', cancelled: true, durationMs: 0, error, followUps });
  };

  describe('cancelling', () => {
    it('ends a delayed event, and emits its follow-ups', async () => {
      const shop = await consume(['a', 'b']);
      const sent = envelope('a', { delayMs: 60_000, body: '7' });
      await shop.transport.publish([sent]);
      const seen: Envelope[] = [];
      const followUp = envelope('b');
      const isCancelled = await shop.transport.runs.cancel(sent.id, (found) => {
        seen.push(found);
        return cancelled([followUp])();
      });
      expect(isCancelled).toBe(true);
      expect(seen.at(-1)).toMatchObject({ id: sent.id, type: 'a', body: '7' });
      expect((await next(shop)).envelope.id).toBe(followUp.id);
      expect(await shop.transport.runs.cancel(sent.id, cancelled())).toBe(false);
    });

    it('keeps a delayed event from its delivery at its due time', async () => {
      const shop = await consume(['a']);
      const delayMs = 500;
      const [id, isCancelled] = await inTime(delayMs, async () => {
        const sent = envelope('a', { delayMs });
        await shop.transport.publish([sent]);
        return [sent.id, await shop.transport.runs.cancel(sent.id, cancelled())];
      });
      expect(isCancelled).toBe(true);
      await advance(delayMs + 50);
      expect(shop.waiting.map((delivery) => delivery.envelope.id)).not.toContain(id);
      expect(await shop.transport.lookup.find(id)).toMatchObject([{ status: 'cancelled', attempts: [] }]);
    });

    it('counts as failed and cancelled, without a failure record and a dead letter', async () => {
      const shop = await consume(['a']);
      const sent = envelope('a', { delayMs: 60_000 });
      await shop.transport.publish([sent]);
      const revision = await shop.transport.counts.revision('a');
      await shop.transport.runs.cancel(sent.id, cancelled());
      expect(await shop.transport.counts.revision('a')).not.toBe(revision);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, failed: 1, cancelled: 1, pending: 0 });
      const metrics = await shop.transport.counts.metrics('a');
      expect(metrics).toMatchObject({ failed: 1, cancelled: 1, durationMs: { last5Min: { max: null } } });
      expect(metrics.lastFailedAt).toBeUndefined();
      expect(metrics.histories.minutes.failed.reduce((sum, count) => sum + count, 0)).toBe(0);
      expect(await shop.transport.counts.failures('a')).toEqual([]);
      expect(await shop.transport.deadLetters.list('a', 10)).toEqual([]);
    });

    it('ends events that wait for a slot or a retry, and no event that has ended or is unknown', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      const [first, second] = [envelope('a'), envelope('a')];
      await shop.transport.publish([first, second]);
      const running = await next(shop);
      expect(await shop.transport.runs.cancel(second.id, cancelled())).toBe(true);
      expect(await shop.transport.runs.cancel('unknown', cancelled())).toBe(false);
      await running.commit(retry(60_000));
      expect(await shop.transport.runs.cancel(first.id, cancelled())).toBe(true);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, cancelled: 2, pending: 0, active: 0 });
      const third = envelope('a');
      await shop.transport.publish([third]);
      await (await next(shop)).commit(completed());
      expect(await shop.transport.runs.cancel(third.id, cancelled())).toBe(false);
    });

    // With the number of other events that take the rest of the slots.
    const slots: [string, Omit<Subscription, 'type'>, number][] = [
      ['of its type', { concurrency: 1 }, 0],
      ['of its key', { perKey: { concurrency: 1 } }, 0],
      ['of the connection', {}, 1],
    ];

    it.each(slots)(
      'ends an event that runs, whose handler holds the slot %s until it returns',
      async (_, limit, others) => {
        const subscriptions = [
          { type: 'a', ...limit },
          { type: 'b', concurrency: 5 },
        ];
        const shop = await consume(subscriptions, { concurrency: 2 });
        const web = connect('web');
        await shop.transport.publish(Array.from({ length: 2 + others }, () => envelope('a', { key: 'k' })));
        const running = await next(shop);
        for (let n = 0; n < others; n += 1) await next(shop);
        const reasons: Error[] = [];
        let end = (): void => {};
        running.onRevoked = (reason) => {
          reasons.push(reason);
          return new Promise<void>((resolve) => {
            end = resolve;
          });
        };
        const followUp = envelope('b');
        expect(await web.runs.cancel(running.envelope.id, cancelled([followUp]), 'shop')).toBe(true);
        expect(await web.runs.cancel(running.envelope.id, cancelled(), 'shop')).toBe(false);
        await until(() => reasons.length === 1);
        expect(reasons).toMatchObject([{ name: 'CancelledError', message: 'cancelled' }]);
        expect(await running.commit(completed([envelope('b')]))).toBe('already');
        await advance(50);
        expect(shop.waiting.filter(({ envelope: { type } }) => type === 'a')).toEqual([]);
        expect(await shop.transport.lookup.find(running.envelope.id)).toMatchObject([{ status: 'cancelled' }]);
        end();
        await until(() => shop.waiting.length === 2);
        expect(shop.waiting.map(({ envelope: { type } }) => type).sort()).toEqual(['a', 'b']);
        expect(shop.waiting.map(({ envelope: { id } }) => id)).toContain(followUp.id);
        expect(await counts(shop.transport, 'a')).toMatchObject({ failed: 1, cancelled: 1 });
        await web.close({ drainMs: 0 });
      },
    );

    it('loses against an outcome that is recorded first, and wins against one that comes later', async () => {
      const shop = await consume(['a']);
      for (let round = 0; round < 10; round += 1) {
        const sent = envelope('a');
        await shop.transport.publish([sent]);
        const delivery = await next(shop);
        const [result, isCancelled] = await Promise.all(
          round % 2 === 0
            ? [delivery.commit(completed()), shop.transport.runs.cancel(sent.id, cancelled())]
            : [
                shop.transport.runs.cancel(sent.id, cancelled()).then((done) => (done ? 'lost' : 'ok')),
                Promise.resolve(delivery.commit(completed())).then((done) => done !== 'ok'),
              ],
        );
        expect(isCancelled).toBe(result !== 'ok');
      }
      await until(async () => (await counts(shop.transport, 'a')).pending === 0);
      const { received, completed: done, failed } = await counts(shop.transport, 'a');
      expect([received, done + failed]).toEqual([10, 10]);
    });

    it('ends an event for one service alone', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      const mail = await consume([{ type: 'a', concurrency: 1 }], { service: 'mail' });
      const sent = [envelope('a'), envelope('a'), envelope('a')] as const;
      await shop.transport.publish(sent);
      const [running, other] = [await next(shop), await next(mail)];
      expect(await shop.transport.runs.cancel(sent[1].id, cancelled())).toBe(true);
      expect(await shop.transport.runs.cancel(sent[2].id, cancelled(), 'mail')).toBe(true);
      await running.commit(completed());
      expect((await next(shop)).envelope.id).toBe(sent[2].id);
      await other.commit(completed());
      const last = await next(mail);
      expect(last.envelope.id).toBe(sent[1].id);
      await last.commit(completed());
      await until(async () => (await counts(shop.transport, 'a')).cancelled === 2);
    });

    it('frees the key of an event that waited for its retry', async () => {
      const shop = await consume([{ type: 'a', perKey: { concurrency: 1 } }]);
      const [first, second, third] = [1, 2, 3].map(() => envelope('a', { key: 'k' }));
      await shop.transport.publish([first, second, third].filter((event) => event !== undefined));
      await (await next(shop)).commit(retry(60_000));
      await shop.transport.runs.cancel(second?.id ?? '', cancelled());
      await advance(20);
      expect(shop.waiting).toHaveLength(0);
      await shop.transport.runs.cancel(first?.id ?? '', cancelled());
      expect((await next(shop)).envelope.id).toBe(third?.id);
    });

    it('ends the child runs that a run waits for, and revokes their leases', async () => {
      const [runs, children] = ['run', 'child'].map((type): Subscription => ({ type, retainsRuns: true }));
      const shop = await consume([runs ?? 'run', children ?? 'child', 'told']);
      const parent = envelope('run');
      await shop.transport.publish([parent]);
      const delivery = await next(shop);
      const childOf = (wait: string): Envelope => envelope('child', { parent: { type: 'run', id: parent.id, wait } });
      const [first, second] = [childOf('first'), childOf('second')];
      await delivery.wait([
        { key: 'first', run: first, onCancel: [envelope('told')] },
        { key: 'second', run: second },
      ]);
      const running = [await next(shop), await next(shop)];
      const reasons: Error[] = [];
      for (const child of running) child.onRevoked = (reason) => void reasons.push(reason);
      await delivery.commit({ status: 'released', durationMs: 0, delayMs: 60_000 });
      expect(await shop.transport.runs.cancel(parent.id, cancelled())).toBe(true);
      await until(() => reasons.length === 2);
      for (const reason of reasons) expect(reason).toMatchObject({ name: 'CancelledError', message: 'cancelled' });
      expect((await next(shop)).envelope.type).toBe('told');
      for (const { id } of [first, second]) {
        expect(await shop.transport.runs.get('child', id)).toMatchObject({
          status: 'failed',
          error: { message: 'cancelled' },
        });
      }
      expect(await counts(shop.transport, 'run')).toMatchObject({ cancelled: 1, pending: 0, active: 0 });
      expect(await counts(shop.transport, 'child')).toMatchObject({ cancelled: 2, pending: 0, active: 0 });
    });

    it('closes the debounce window of the event', async () => {
      const shop = await consume([{ type: 'a', perKey: {}, debounce: { ms: 60_000 } }]);
      const [first, second] = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await shop.transport.publish([first]);
      await shop.transport.runs.cancel(first.id, cancelled());
      expect(await shop.transport.publish([second])).toEqual([{ id: second.id, deduplicated: false }]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, cancelled: 1, pending: 1 });
    });

    it('ends many events in any order and leaves the others in theirs', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      const sent = Array.from({ length: 200 }, () => envelope('a'));
      await shop.transport.publish(sent);
      const running = await next(shop);
      for (let index = sent.length - 1; index > 0; index -= 1) {
        const id = sent[index]?.id ?? '';
        if (index % 20 !== 0) expect(await shop.transport.runs.cancel(id, cancelled())).toBe(true);
      }
      await running.commit(completed());
      const ids: string[] = [];
      for (let index = 20; index < sent.length; index += 20) {
        const delivery = await next(shop);
        ids.push(delivery.envelope.id);
        await delivery.commit(completed());
      }
      expect(ids).toEqual(sent.filter((_, index) => index > 0 && index % 20 === 0).map(({ id }) => id));
      await until(async () => (await counts(shop.transport, 'a')).pending === 0);
    });
  });
}
