import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry } from '../outcome.js';

/** Tests of the order and the limits per key. */
export function describeKeys(stage: ContractStage): void {
  const { advance, consume, counts, next, until } = stage;
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
      const one = await consume([{ type: 'a', perKey: { concurrency: 3 }, retainsRuns: true }]);
      const sent = Array.from({ length: 4 }, () => envelope('a', { key: 'k' }));
      await one.transport.publish(sent);
      const started = [await next(one), await next(one), await next(one)];
      const two = await consume([{ ...serial, retainsRuns: true }]);
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
      const shop = await consume([
        serial,
        { type: 'flow', retainsRuns: true, perKey: { concurrency: 1 }, triggers: ['a'] },
      ]);
      const [first, second] = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await shop.transport.publish([first, second]);
      const both = [await next(shop), await next(shop)];
      const [event, run] = ['a', 'flow'].map((type) => both.find(({ envelope: found }) => found.type === type));
      await advance(30);
      expect(shop.waiting).toHaveLength(0);
      await event?.commit(failed('no'));
      const running = await next(shop);
      expect(running.envelope.id).toBe(second.id);
      await shop.transport.deadLetters.replay(first.id);
      await advance(30);
      expect(shop.waiting).toHaveLength(0);
      await running.commit(completed());
      expect((await next(shop)).envelope).toMatchObject({ id: first.id, replays: 1, key: 'k' });
      await run?.commit(completed());
      expect((await next(shop)).envelope).toMatchObject({ type: 'flow', causeId: second.id, key: 'k' });
    });

    it('are free after a run that held them was ended from outside', async () => {
      const shop = await consume([{ ...serial, retainsRuns: true }]);
      const [first, second] = [envelope('a', { key: 'k' }), envelope('a', { key: 'k' })];
      await shop.transport.publish([first, second]);
      await next(shop);
      await shop.transport.runs.end('a', first.id, failed('cancelled'), new Error('cancelled'));
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
}
