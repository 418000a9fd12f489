import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed } from '../outcome.js';

/** Tests of debounced types. */
export function describeDebounce(stage: ContractStage): void {
  const { advance, consume, counts, inTime, next, until } = stage;

  describe('debounce', () => {
    const debounced: Subscription = { type: 'a', perKey: {}, debounce: { ms: 150 } };

    it('retains the last of several events of a key, under the id of the first', async () => {
      const shop = await consume([{ ...debounced, debounce: { ms: 60_000 } }]);
      const first = envelope('a', { key: 'k', body: '1', requestId: 'r-1' });
      const second = envelope('a', { key: 'k', body: '2', requestId: 'r-2' });
      const other = envelope('a', { key: 'other', body: '3' });
      expect(await shop.transport.publish([first])).toEqual([{ id: first.id, deduplicated: false }]);
      await advance(50);
      expect(await shop.transport.publish([second, other])).toEqual([
        { id: first.id, deduplicated: true },
        { id: other.id, deduplicated: false },
      ]);
      const found = await Promise.all([first, other].map(({ id }) => shop.transport.lookup.find(id, { bodies: true })));
      expect(found).toMatchObject([
        [{ id: first.id, body: '2', requestId: 'r-2', status: 'delayed' }],
        [{ id: other.id, body: '3', status: 'delayed' }],
      ]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, pending: 2 });
      expect(await shop.transport.counts.metrics('a')).toMatchObject({ deduplicated: 1 });
    });

    it('runs the last of several events of a key', async () => {
      const shop = await consume([debounced]);
      const [first, second, other] = [
        envelope('a', { key: 'k', body: '1', requestId: 'r-1' }),
        envelope('a', { key: 'k', body: '2', requestId: 'r-2' }),
        envelope('a', { key: 'other', body: '3' }),
      ];
      await shop.transport.publish([first, second, other]);
      await until(() => shop.waiting.length === 2);
      const seen = shop.waiting.map((delivery) => delivery.envelope);
      expect(seen.find(({ key }) => key === 'k')).toMatchObject({ id: first.id, body: '2', requestId: 'r-2' });
      expect(seen.find(({ key }) => key === 'other')).toMatchObject({ id: other.id, body: '3' });
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, pending: 2 });
    });

    it('waits until no event of the key arrived for its time', async () => {
      const shop = await consume([{ ...debounced, debounce: { ms: 500 } }]);
      const [first, startedAt] = await inTime(500, async () => {
        const sent = envelope('a');
        await shop.transport.publish([{ ...sent, key: sent.id, body: '1' }]);
        await advance(200);
        const at = await stage.now();
        await shop.transport.publish([envelope('a', { key: sent.id, body: '2' })]);
        return [sent, at];
      });
      await until(() => shop.waiting.some(({ envelope: { body, id } }) => body === '2' && id === first.id));
      expect((await stage.now()) - startedAt).toBeGreaterThanOrEqual(500);
    });

    it('waits no longer than its maximum', async () => {
      const shop = await consume([{ ...debounced, debounce: { ms: 600_000, maxMs: 300_000 } }]);
      const first = envelope('a', { key: 'k' });
      const dueAt = async (): Promise<number | undefined> => (await shop.transport.lookup.find(first.id))[0]?.dueAt;
      await shop.transport.publish([first]);
      const before = await dueAt();
      await advance(50);
      expect(await shop.transport.publish([envelope('a', { key: 'k' })])).toMatchObject([{ id: first.id }]);
      expect(before).toBeDefined();
      expect(await dueAt()).toBe(before);
    });

    it('runs the last event at its maximum', async () => {
      const shop = await consume([{ ...debounced, debounce: { ms: 600_000, maxMs: 150 } }]);
      await shop.transport.publish([envelope('a', { key: 'k', body: '1' }), envelope('a', { key: 'k', body: '2' })]);
      expect((await next(shop)).envelope.body).toBe('2');
    });

    it('accepts a new event once the last one has left its window', async () => {
      const shop = await consume([debounced]);
      await shop.transport.publish([envelope('a', { key: 'k', body: '1' })]);
      const first = await next(shop);
      const second = envelope('a', { key: 'k', body: '2' });
      expect(await shop.transport.publish([second])).toEqual([{ id: second.id, deduplicated: false }]);
      expect((await next(shop)).envelope.body).toBe('2');
      expect(first.envelope.body).toBe('1');
    });

    it('delays events without a key as those of one key', async () => {
      const shop = await consume([{ type: 'a', debounce: { ms: 100 } }]);
      await shop.transport.publish([envelope('a', { body: '1' }), envelope('a', { body: '2' })]);
      expect((await next(shop)).envelope.body).toBe('2');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1 });
    });

    it('delays follow-up events', async () => {
      const shop = await consume(['cause', debounced]);
      await shop.transport.publish([envelope('cause')]);
      const followUps = [envelope('a', { key: 'k', body: '1' }), envelope('a', { key: 'k', body: '2' })];
      await (await next(shop)).commit(completed(followUps));
      expect((await next(shop)).envelope.body).toBe('2');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, pending: 1 });
    });

    it('holds for its service alone', async () => {
      const shop = await consume([debounced]);
      const mail = await consume(['a'], { service: 'mail' });
      const sent = [envelope('a', { key: 'k', body: '1' }), envelope('a', { key: 'k', body: '2' })];
      const receipts = await shop.transport.publish(sent);
      expect(receipts).toEqual(sent.map(({ id }) => ({ id, deduplicated: false })));
      await until(() => mail.waiting.length === 2);
      expect((await next(shop)).envelope.body).toBe('2');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 3, pending: 3 });
    });
  });
}
