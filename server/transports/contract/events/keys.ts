import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../transport.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry } from '../outcome.js';

/** Tests of the order and the limits per key. */
export function describeKeys(stage: ContractStage): void {
  const { advance, consume, counts, inTime, next, until } = stage;
  const serial: Subscription = { type: 'a', perKey: { concurrency: 1 } };

  /** Completes deliveries as they come until `count` have come. Returns their ids. */
  async function drain(consumptions: readonly Consumption[], count: number): Promise<string[]> {
    const ids: string[] = [];
    while (ids.length < count) {
      await until(() => consumptions.some(({ waiting }) => waiting.length > 0));
      for (const consumption of consumptions) {
        while (consumption.waiting.length > 0) {
          const delivery = consumption.shift();
          ids.push(delivery.envelope.id);
          await delivery.commit(completed());
        }
      }
    }
    return ids;
  }

  describe('keys', () => {
    it('run their events one after the other in order of acceptance, over all connections', async () => {
      const one = await consume([serial]);
      const two = await consume([serial]);
      const sent = Array.from({ length: 12 }, (_, index) => envelope('a', { key: `key-${index % 3}` }));
      await one.transport.publish(sent);
      await until(() => one.waiting.length + two.waiting.length === 3);
      await advance(30);
      expect(one.waiting.length + two.waiting.length).toBe(3);
      expect(await counts(one.transport, 'a')).toMatchObject({ received: 12, pending: 12, active: 3 });
      const ids = await drain([one, two], sent.length);
      for (const key of ['key-0', 'key-1', 'key-2']) {
        const ofKey = sent.filter((event) => event.key === key).map(({ id }) => id);
        expect(ids.filter((id) => ofKey.includes(id))).toEqual(ofKey);
      }
    });

    it('keep the next event waiting while an event waits for its retry', async () => {
      const shop = await consume([serial]);
      const [first, second] = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await shop.transport.publish([first, second]);
      await (await next(shop)).commit(retry(60));
      const retried = await next(shop);
      expect(retried).toMatchObject({ attempt: 2, envelope: { id: first.id } });
      expect(shop.waiting).toHaveLength(0);
      await retried.commit(failed('no'));
      expect((await next(shop)).envelope.id).toBe(second.id);
    });

    it('keep the place of an event that a closing connection released', async () => {
      const one = await consume([serial]);
      const [first, second] = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await one.transport.publish([first, second]);
      await next(one);
      await one.transport.close({ drainMs: 0 });
      const two = await consume([serial]);
      const resumed = await next(two);
      expect(resumed).toMatchObject({ attempt: 1, envelope: { id: first.id } });
      await advance(30);
      expect(two.waiting).toHaveLength(0);
      await resumed.commit(completed());
      expect((await next(two)).envelope.id).toBe(second.id);
    });

    it('do not wait for each other', async () => {
      const shop = await consume([serial]);
      const flood = Array.from({ length: 20 }, () => envelope('a', { key: 'flood' }));
      const other = envelope('a', { key: 'other' });
      await shop.transport.publish([...flood, other]);
      const started = [await next(shop), await next(shop)].map((delivery) => delivery.envelope.id);
      expect(started.sort()).toEqual([flood[0]?.id, other.id].sort());
    });

    it('take turns where the type allows one event at a time', async () => {
      const shop = await consume([{ ...serial, concurrency: 1 }]);
      const flood = Array.from({ length: 5 }, () => envelope('a', { key: 'flood' }));
      const others = [envelope('a', { key: 'b' }), envelope('a', { key: 'c' })];
      await shop.transport.publish([...flood, ...others]);
      const ids = await drain([shop], 7);
      // One event of the flood may have started before the others arrived, and one may be next in turn.
      for (const other of others) expect(ids.indexOf(other.id)).toBeLessThanOrEqual(3);
    });

    it('take turns without a limit of their own', async () => {
      const shop = await consume([{ type: 'a', concurrency: 1, perKey: {} }]);
      const flood = Array.from({ length: 5 }, () => envelope('a', { key: 'flood' }));
      const other = envelope('a', { key: 'other' });
      await shop.transport.publish([...flood, other]);
      expect((await drain([shop], 6)).indexOf(other.id)).toBeLessThanOrEqual(2);
    });

    it('allow as many events at once as their limit says', async () => {
      const shop = await consume([{ type: 'a', perKey: { concurrency: 2 } }]);
      await shop.transport.publish(Array.from({ length: 5 }, () => envelope('a', { key: 'k' })));
      await until(() => shop.waiting.length === 2);
      await advance(30);
      expect(shop.waiting).toHaveLength(2);
      await shop.shift().commit(completed());
      await until(() => shop.waiting.length === 2);
    });

    it('start no more than their rate allows, retries included', async () => {
      const shop = await consume([{ type: 'a', perKey: { rate: { max: 2, perMs: 300 } } }]);
      const startedAt = await stage.now();
      await shop.transport.publish(Array.from({ length: 3 }, () => envelope('a', { key: 'k' })));
      await (await next(shop)).commit(retry(1));
      await next(shop);
      await next(shop);
      expect((await stage.now()) - startedAt).toBeGreaterThanOrEqual(300);
      await next(shop);
    });

    it('do not wait for the rate of each other', async () => {
      const shop = await consume([{ type: 'a', perKey: { rate: { max: 2, perMs: 60_000 } } }]);
      await shop.transport.publish(Array.from({ length: 3 }, () => envelope('a', { key: 'k' })));
      await shop.transport.publish([envelope('a', { key: 'other' })]);
      await until(() => shop.waiting.length === 3);
      const keys = shop.waiting.map((delivery) => delivery.envelope.key);
      expect(keys.sort()).toEqual(['k', 'k', 'other']);
    });

    it('start a higher priority first', async () => {
      const shop = await consume([serial]);
      await shop.transport.publish([envelope('a', { key: 'k' })]);
      const running = await next(shop);
      const [low, middle, high] = [-5, 0, 5].map((priority) => envelope('a', { key: 'k', priority }));
      await shop.transport.publish([low, middle, high].filter((event) => event !== undefined));
      await running.commit(completed());
      expect(await drain([shop], 3)).toEqual([high?.id, middle?.id, low?.id]);
    });

    it('are not held by a delayed event before its time', async () => {
      const shop = await consume([serial]);
      const sooner = envelope('a', { key: 'k' });
      await shop.transport.publish([envelope('a', { key: 'k', delayMs: 60_000 }), sooner]);
      const running = await next(shop);
      expect(running.envelope.id).toBe(sooner.id);
      const delayed = envelope('a', { key: 'k', delayMs: 100 });
      await shop.transport.publish([delayed]);
      await advance(150);
      expect(shop.waiting).toHaveLength(0);
      await running.commit(completed());
      expect((await next(shop)).envelope.id).toBe(delayed.id);
    });

    it('do not limit events without a key', async () => {
      const shop = await consume([serial]);
      await shop.transport.publish([envelope('a'), envelope('a'), envelope('a')]);
      await until(() => shop.waiting.length === 3);
    });

    it('run one retry at a time after their limit was lowered', async () => {
      const one = await consume([{ type: 'a', perKey: { concurrency: 3 }, keepsRuns: true }]);
      const sent = Array.from({ length: 4 }, () => envelope('a', { key: 'k' }));
      await one.transport.publish(sent);
      const started = [await next(one), await next(one), await next(one)];
      const two = await consume([{ ...serial, keepsRuns: true }]);
      await one.transport.close({ drainMs: 0 });
      // They were released. Each holds its slot while it waits again: for a retry, to be resumed, for another process.
      for (const end of [retry(30), { status: 'suspended', durationMs: 0, seen: 0 }, retry(60)] as const) {
        const delivery = await next(two);
        await advance(30);
        expect(two.waiting).toHaveLength(0);
        if (end.status === 'suspended') await delivery.wait([{ key: 'sleep', delayMs: 60 }]);
        await delivery.commit(end);
      }
      const ids: string[] = [];
      while (ids.length < 4) {
        const delivery = await next(two);
        ids.push(delivery.envelope.id);
        await advance(30);
        expect(two.waiting).toHaveLength(0);
        await delivery.commit(completed());
      }
      expect(ids.slice(0, 3).sort()).toEqual(started.map((delivery) => delivery.envelope.id).sort());
      expect(ids[3]).toBe(sent[3]?.id);
    });

    it('bound a replayed dead letter too, and a triggered run', async () => {
      const shop = await consume([serial, { type: 'flow', keepsRuns: true, perKey: { concurrency: 1 }, trigger: 'a' }]);
      const [first, second] = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await shop.transport.publish([first, second]);
      const both = [await next(shop), await next(shop)];
      const [event, run] = ['a', 'flow'].map((type) => both.find(({ envelope: found }) => found.type === type));
      await advance(30);
      expect(shop.waiting).toHaveLength(0);
      await event?.commit(failed('no'));
      const running = await next(shop);
      expect(running.envelope.id).toBe(second.id);
      await shop.transport.replay(first.id);
      await advance(30);
      expect(shop.waiting).toHaveLength(0);
      await running.commit(completed());
      expect((await next(shop)).envelope).toMatchObject({ id: first.id, replays: 1, key: 'k' });
      await run?.commit(completed());
      expect((await next(shop)).envelope).toMatchObject({ type: 'flow', causeId: second.id, key: 'k' });
    });

    it('are free after a run that held them was ended from outside', async () => {
      const shop = await consume([{ ...serial, keepsRuns: true }]);
      const [first, second] = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await shop.transport.publish([first, second]);
      await next(shop);
      await shop.transport.endRun('a', first.id, failed('cancelled'), new Error('cancelled'));
      expect((await next(shop)).envelope.id).toBe(second.id);
    });

    it.each<[string, Subscription, Subscription]>([
      ['gain', { type: 'a' }, serial],
      ['lose', serial, { type: 'a' }],
      ['change', serial, { type: 'a', perKey: { concurrency: 2 } }],
    ])('deliver what waits when they %s limits', async (_, before, after) => {
      const one = await consume([before], { concurrency: 1 });
      const sent = Array.from({ length: 4 }, () => envelope('a', { key: 'k' }));
      await one.transport.publish(sent);
      await next(one);
      await one.transport.close({ drainMs: 0 });
      const two = await consume([after]);
      expect((await drain([two], 4)).sort()).toEqual(sent.map(({ id }) => id).sort());
      expect(await counts(two.transport, 'a')).toMatchObject({ completed: 4, pending: 0, active: 0 });
    });
  });

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
      const found = await Promise.all([first, other].map(({ id }) => shop.transport.find(id, { bodies: true })));
      expect(found).toMatchObject([
        [{ id: first.id, body: '2', requestId: 'r-2', status: 'delayed' }],
        [{ id: other.id, body: '3', status: 'delayed' }],
      ]);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, pending: 2 });
      expect(await shop.transport.metrics('a')).toMatchObject({ deduplicated: 1 });
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
      const dueAt = async (): Promise<number | undefined> => (await shop.transport.find(first.id))[0]?.dueAt;
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
