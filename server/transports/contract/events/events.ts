import { describe, expect, it } from 'vitest';
import type { CompleteEnvelope, Envelope } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry } from '../outcome.js';

/** Tests events from acceptance to outcome, follow-ups and deduplication. */
export function describeEvents({ advance, consume, counts, next, now }: ContractStage): void {
  describe('one event', () => {
    it('reaches the consumer unchanged and counts at each step', async () => {
      const shop = await consume(['order.created']);
      const sent = envelope('order.created', { body: '{"text":"日本 \\u0000"}', requestId: 'r-1', depth: 3 });
      expect(await shop.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
      const delivery = await next(shop);
      expect(delivery.envelope).toMatchObject({ id: sent.id, type: sent.type, body: sent.body });
      expect(delivery.envelope).toMatchObject({ requestId: 'r-1', depth: 3 });
      expect(delivery.attempt).toBe(1);
      expect(await counts(shop.transport, 'order.created')).toMatchObject({ received: 1, pending: 1, active: 1 });
      expect(await delivery.commit(completed())).toBe('ok');
      expect(await counts(shop.transport, 'order.created')).toMatchObject({
        received: 1,
        completed: 1,
        failed: 0,
        pending: 0,
        active: 0,
      });
    });

    it('keeps every field over a restart, as a pending event and as a dead letter', async () => {
      // With all optional fields. The deduplication ends with acceptance, and replays are counted by the transport.
      const full: Omit<CompleteEnvelope, 'dedupe' | 'replays'> = {
        ...{ id: 'full-1', type: 'a', body: '{"text":"日本"}', requestId: 'r-1', depth: 3, delayMs: 1, priority: 7 },
        trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
        key: 'customer 1',
        causeId: 'cause-1',
        parent: { type: 'parent', id: 'parent-1', wait: 'wait-1' },
      };
      const before = await consume(['a']);
      await before.transport.publish([{ ...full, replays: 0, dedupe: undefined }]);
      expect((await next(before)).envelope).toMatchObject(full);
      await before.transport.close({ drainMs: 0 });
      const after = await consume(['a']);
      const delivery = await next(after);
      expect(delivery.envelope).toMatchObject(full);
      await delivery.commit(failed('no'));
      await after.transport.close({ drainMs: 0 });
      const last = await consume(['a']);
      expect(await last.transport.deadLetters.list('a', 1)).toMatchObject([{ envelope: full }]);
    });

    it('carries its trace context through delay and retry, and to triggered runs', async () => {
      const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'shop=1' };
      const triggered = { type: 'run', retainsRuns: true, triggers: ['a'] };
      const shop = await consume(['a', 'b']);
      const runs = await consume([triggered]);
      await shop.transport.publish([envelope('a', { trace, delayMs: 10 })]);
      const first = await next(shop);
      await first.commit(retry(10));
      const second = await next(shop);
      await second.commit(completed([envelope('b', { trace })]));
      for (const { envelope: carrying } of [first, second, await next(shop), await next(runs)]) {
        expect(carrying.trace).toEqual(trace);
      }
    });

    it('has one outcome: a second commit changes nothing', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a')]);
      const delivery = await next(shop);
      expect(await delivery.commit(completed())).toBe('ok');
      expect(await delivery.commit(failed('late'))).toBe('already');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, completed: 1, failed: 0 });
    });

    it('is delivered again after the retry delay, with the next attempt, and counts once', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a')]);
      const first = await next(shop);
      const from = await now();
      expect(await first.commit(retry(300))).toBe('ok');
      expect(await first.commit(completed())).toBe('fenced');
      const second = await next(shop);
      expect((await now()) - from).toBeGreaterThanOrEqual(300);
      expect(second.attempt).toBe(2);
      expect(second.envelope.id).toBe(first.envelope.id);
      await second.commit(completed());
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, completed: 1, pending: 0, retried: 1 });
    });

    it('is pending and not active while it waits for its retry or its delay', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a')]);
      await (await next(shop)).commit(retry(60_000));
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, pending: 1, active: 0, retried: 1 });
      await shop.transport.publish([envelope('a', { delayMs: 60_000 })]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, pending: 2, active: 0, retried: 1 });
    });

    it('starts no earlier than its delay', async () => {
      const shop = await consume(['a']);
      const from = await now();
      await shop.transport.publish([envelope('a', { delayMs: 300 })]);
      expect((await next(shop)).attempt).toBe(1);
      expect((await now()) - from).toBeGreaterThanOrEqual(300);
    });

    it('of a type without a handler counts as received and completed', async () => {
      const shop = await consume(['other']);
      await shop.transport.publish([envelope('signal')]);
      expect(await counts(shop.transport, 'signal')).toMatchObject({ received: 1, completed: 1, pending: 0 });
    });

    it.each(['__proto__', 'constructor', 'a:b/c 50%', '日本 🎉', 'x'.repeat(512)])(
      'may have the type %j',
      async (type) => {
        const shop = await consume([type]);
        await shop.transport.publish([envelope(type)]);
        const delivery = await next(shop);
        expect(delivery.envelope.type).toBe(type);
        await delivery.commit(failed('no'));
        expect(await counts(shop.transport, type)).toMatchObject({ received: 1, failed: 1 });
        expect(await shop.transport.counts.failures(type)).toHaveLength(1);
      },
    );
  });

  describe('follow-ups', () => {
    it('are published with the outcome, once', async () => {
      const shop = await consume(['a', 'b']);
      await shop.transport.publish([envelope('a')]);
      const delivery = await next(shop);
      const following = envelope('b', { depth: 1 });
      expect(await delivery.commit(completed([following]))).toBe('ok');
      expect(await delivery.commit(completed([following]))).toBe('already');
      expect((await next(shop)).envelope).toMatchObject({ id: following.id, depth: 1 });
      expect(await counts(shop.transport, 'b')).toMatchObject({ received: 1, pending: 1 });
    });

    it('are published after a failure, but not with a retry', async () => {
      const shop = await consume(['a', 'b']);
      await shop.transport.publish([envelope('a')]);
      await (await next(shop)).commit(retry(0));
      await (await next(shop)).commit(failed('no', [envelope('b')]));
      expect((await next(shop)).envelope.type).toBe('b');
    });
  });

  describe('deduplication', () => {
    const once = (type = 'a'): Envelope => envelope(type, { dedupe: { id: 'pay-1', windowMs: 500 } });

    it('accepts one event per id and window, and returns the id of that event', async () => {
      const shop = await consume(['a', 'b']);
      const sent = once();
      await shop.transport.publish([sent]);
      expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
      expect(await shop.transport.publish([once('b')])).toMatchObject([{ deduplicated: false }]);
      expect(await shop.transport.counts.metrics('a')).toMatchObject({ received: 1, deduplicated: 1 });
      await (await next(shop)).commit(completed());
      await advance(550);
      expect(await shop.transport.publish([once()])).toMatchObject([{ deduplicated: false }]);
      expect(await shop.transport.counts.metrics('a')).toMatchObject({ received: 2, deduplicated: 1 });
    });

    it('applies within one call', async () => {
      const shop = await consume(['a']);
      const [first, second] = [once(), once()];
      expect(await shop.transport.publish([first, second])).toEqual([
        { id: first.id, deduplicated: false },
        { id: first.id, deduplicated: true },
      ]);
      expect(await shop.transport.counts.metrics('a')).toMatchObject({ received: 1, deduplicated: 1 });
    });
  });
}
