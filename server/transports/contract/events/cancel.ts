import { describe, expect, it } from 'vitest';
import type { Envelope, FailedOutcome, Subscription } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, retry } from '../outcome.js';

/** Tests of ending events that wait. */
export function describeCancel({ advance, consume, counts, inTime, next, until }: ContractStage): void {
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

    it('ends events that wait for a slot or a retry, and no event that runs, has ended or is unknown', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      const [first, second] = [envelope('a'), envelope('a')];
      await shop.transport.publish([first, second]);
      const running = await next(shop);
      expect(await shop.transport.runs.cancel(first.id, cancelled())).toBe(false);
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

    it('ends an event for its service alone', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1 }]);
      const mail = await consume([{ type: 'a', concurrency: 1 }], { service: 'mail' });
      const sent = [envelope('a'), envelope('a'), envelope('a')] as const;
      await shop.transport.publish(sent);
      const [running, other] = [await next(shop), await next(mail)];
      expect(await shop.transport.runs.cancel(sent[1].id, cancelled())).toBe(true);
      await running.commit(completed());
      expect((await next(shop)).envelope.id).toBe(sent[2].id);
      await other.commit(completed());
      expect((await next(mail)).envelope.id).toBe(sent[1].id);
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
      for (const child of running) child.onRevoked = (reason) => reasons.push(reason);
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
