import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry, suspended } from '../outcome.js';

/** Tests events in all states while connections of one service with different subscriptions come and go. */
export function describeDeploys({ advance, connect, consume, counts, next, until }: ContractStage): void {
  /** Completes what waits in the connections until so many events of the type are completed. */
  async function completeAll(type: string, count: number, ...connections: Consumption[]): Promise<void> {
    const [one] = connections;
    if (one === undefined) return;
    await until(async () => {
      for (const connection of connections) {
        while (connection.waiting.length > 0) await connection.shift().commit(completed());
      }
      return (await counts(one.transport, type)).completed === count;
    });
  }

  describe('deploys', () => {
    const variants: [string, Subscription, Subscription][] = [
      ['adds a concurrency', { type: 'a' }, { type: 'a', concurrency: 2 }],
      ['drops a concurrency', { type: 'a', concurrency: 2 }, { type: 'a' }],
      ['changes a concurrency', { type: 'a', concurrency: 1 }, { type: 'a', concurrency: 3 }],
      ['adds a rate', { type: 'a' }, { type: 'a', rate: { max: 2, perMs: 60_000 } }],
      ['drops a rate', { type: 'a', rate: { max: 100, perMs: 60_000 } }, { type: 'a' }],
    ];

    it.each(variants)('delivers all events after a canary that %s has left', async (_, stable, canaryOnly) => {
      const one = await consume([stable, 'b']);
      const canary = await consume([canaryOnly, 'b']);
      await one.transport.publish(Array.from({ length: 4 }, () => envelope('a')));
      await one.transport.publish([envelope('a', { delayMs: 20 })]);
      await until(() => one.waiting.length + canary.waiting.length > 0);
      await canary.transport.close({ drainMs: 0 });
      await one.transport.publish(Array.from({ length: 10 }, () => envelope('a')));
      const returned = canary.waiting.splice(0);
      await completeAll('a', 15, one);
      for (const delivery of returned) expect(await delivery.commit(completed())).not.toBe('ok');
      expect(await counts(one.transport, 'a')).toMatchObject({ received: 15, completed: 15, pending: 0 });
    });

    it('puts the limits of the remaining connections back into effect', async () => {
      const one = await consume([{ type: 'a', concurrency: 1 }]);
      const canary = await consume([{ type: 'a', concurrency: 5 }]);
      await canary.transport.close({ drainMs: 0 });
      await one.transport.publish(Array.from({ length: 3 }, () => envelope('a')));
      for (let left = 3; left > 0; left -= 1) {
        const delivery = await next(one);
        await advance(20);
        expect(one.waiting).toEqual([]);
        await delivery.commit(completed());
      }
    });

    it('applies a new concurrency to the backlog, and to what runs already', async () => {
      const before = await consume(['a']);
      await before.transport.publish(Array.from({ length: 3 }, () => envelope('a')));
      await until(() => before.waiting.length === 3);
      const after = await consume([{ type: 'a', concurrency: 2 }]);
      await before.transport.publish(Array.from({ length: 9 }, () => envelope('a')));
      const running = before.waiting.splice(0);
      await advance(30);
      expect(before.waiting.length + after.waiting.length).toBe(0);
      for (const delivery of running) await delivery.commit(completed());
      for (let left = 9; left > 0; left -= 1) {
        await until(() => before.waiting.length + after.waiting.length >= Math.min(2, left));
        await advance(5);
        expect(before.waiting.length + after.waiting.length).toBe(Math.min(2, left));
        await (before.waiting.length > 0 ? before : after).shift().commit(completed());
      }
    });

    it('applies new limits to events that were accepted while no connection was open', async () => {
      const before = await consume(['a']);
      await before.transport.close({ drainMs: 0 });
      const producer = connect('web');
      await producer.publish(Array.from({ length: 10 }, () => envelope('a')));
      const after = await consume([{ type: 'a', concurrency: 1 }]);
      for (let left = 10; left > 0; left -= 1) {
        const delivery = await next(after);
        expect(after.waiting).toEqual([]);
        await delivery.commit(completed());
      }
      await producer.close({ drainMs: 0 });
    });

    it('starts a workflow by the trigger of the latest open connection', async () => {
      const triggeredBy = (type: string): Subscription => ({
        type: 'flow',
        retainsRuns: true,
        triggers: [type],
      });
      const one = await consume([triggeredBy('a')]);
      const canary = await consume([triggeredBy('b')]);
      await one.transport.publish([envelope('a')]);
      expect(await counts(one.transport, 'flow')).toMatchObject({ received: 0 });
      await one.transport.publish([envelope('b')]);
      expect(await counts(one.transport, 'flow')).toMatchObject({ received: 1 });
      await canary.transport.close({ drainMs: 0 });
      await one.transport.publish([envelope('b')]);
      expect(await counts(one.transport, 'flow')).toMatchObject({ received: 1 });
      await one.transport.publish([envelope('a')]);
      expect(await counts(one.transport, 'flow')).toMatchObject({ received: 2 });
    });

    it('makes runs of the events that wait when their type begins to keep runs', async () => {
      const before = await consume([{ type: 'a', concurrency: 1 }]);
      const sent = Array.from({ length: 8 }, (_, n) => envelope('a', { key: `k${n}`, body: `{"text":"\\"${n}\\\\"}` }));
      // One per millisecond: their order is the same wherever it is read.
      for (const each of sent) {
        await before.transport.publish([each]);
        await advance(1);
      }
      await before.transport.publish([envelope('a', { id: 'late', key: 'k8', delayMs: 40, body: '8' })]);
      const all = [...sent, { id: 'late', body: '8' }];
      await (await next(before)).commit(retry(0));
      const held = await next(before);
      const after = await consume([{ type: 'a', concurrency: 1, retainsRuns: true }]);
      await before.transport.close({ drainMs: 0 });
      expect(await held.commit(completed())).not.toBe('ok');
      for (const _ of all) {
        const delivery = await next(after);
        const { id, key } = delivery.envelope;
        expect(await delivery.checkpoint('step', '"done"')).toBe('ok');
        expect(await delivery.wait([{ key: 'ask', event: { type: 'go', key }, isApproval: true }])).toBe('ok');
        expect(await after.transport.runs.get('a', id)).toMatchObject({
          status: 'active',
          attempt: delivery.attempt,
          checkpoints: new Map([['step', '"done"']]),
          waits: [{ key: 'ask', event: { type: 'go', key }, isApproval: true }],
        });
        expect(await delivery.commit(suspended(1))).toBe('ok');
      }
      expect(await counts(after.transport, 'a')).toMatchObject({ pending: 9, suspended: 9, approvals: 9 });
      await after.transport.publish(all.map((_, n) => envelope('go', { key: `k${n}`, body: `${n}` })));
      for (const _ of all) {
        const delivery = await next(after);
        const { id, body } = delivery.envelope;
        expect(body).toBe(all.find((each) => each.id === id)?.body);
        expect([...delivery.checkpoints.keys()]).toEqual(['step', 'ask']);
        expect(await delivery.commit({ ...completed(), result: '1' })).toBe('ok');
        const record = await after.transport.runs.get('a', id);
        expect(record).toMatchObject({ status: 'completed', result: '1', envelope: { id, body }, waits: [] });
        expect([...(record?.checkpoints.keys() ?? [])]).toEqual(['step', 'ask']);
      }
      const ends = { received: 9, completed: 9, pending: 0, active: 0, suspended: 0 };
      expect(await counts(after.transport, 'a')).toMatchObject(ends);
    });

    it('ends an event that runs while its type begins to keep runs', async () => {
      const before = await consume(['a']);
      await before.transport.publish([envelope('a', { id: 'plain' })]);
      const delivery = await next(before);
      const after = await consume([{ type: 'a', retainsRuns: true }]);
      expect(await delivery.commit(completed())).toBe('ok');
      expect(await after.transport.lookup.find('plain')).toMatchObject([{ id: 'plain', status: 'completed' }]);
      expect(await counts(after.transport, 'a')).toMatchObject({ received: 1, completed: 1, pending: 0 });
    });

    it('ends the runs that wait when their type ceases to keep runs', async () => {
      const before = await consume([{ type: 'a', concurrency: 1, retainsRuns: true }]);
      await before.transport.publish([envelope('a', { id: 'suspended' }), envelope('a', { id: 'waiting' })]);
      const delivery = await next(before);
      await delivery.wait([{ key: 'ask', event: { type: 'go', key: undefined } }]);
      await delivery.commit(suspended(0));
      const after = await consume([{ type: 'a', concurrency: 1 }]);
      await before.transport.close({ drainMs: 0 });
      await after.transport.publish([envelope('go')]);
      for (const _ of ['waiting', 'suspended']) expect(await (await next(after)).commit(completed())).toBe('ok');
      for (const id of ['waiting', 'suspended']) {
        expect(await after.transport.runs.get('a', id)).toMatchObject({ status: 'completed', waits: [] });
        expect(await after.transport.lookup.find(id)).toMatchObject([{ id, status: 'completed' }]);
      }
      expect(await counts(after.transport, 'a')).toMatchObject({ received: 2, completed: 2, pending: 0, suspended: 0 });
    });

    it('delivers an event only to connections that handle its type, whichever come and go', async () => {
      const both = await consume(['a', 'b'], { concurrency: 3 });
      const onlyA = await consume(['a'], { concurrency: 3 });
      await both.transport.publish(Array.from({ length: 12 }, (_, n) => envelope(n % 2 === 0 ? 'a' : 'b')));
      await until(() => both.waiting.length === 3 && onlyA.waiting.length === 3);
      await advance(20);
      expect(both.waiting).toHaveLength(3);
      expect(new Set(onlyA.waiting.map((delivery) => delivery.envelope.type))).toEqual(new Set(['a']));
      const onlyC = await consume(['c']);
      await completeAll('b', 6, both, onlyA);
      await completeAll('a', 6, both, onlyA);
      expect(onlyC.waiting).toEqual([]);
      await both.transport.close({ drainMs: 0 });
      await onlyA.transport.publish([envelope('a'), envelope('b'), envelope('c')]);
      expect((await next(onlyA)).envelope.type).toBe('a');
      expect((await next(onlyC)).envelope.type).toBe('c');
      expect(await counts(onlyA.transport, 'b')).toMatchObject({ received: 7, completed: 6, pending: 1, active: 0 });
      const again = await consume(['b']);
      expect((await next(again)).envelope.type).toBe('b');
    });

    it('leaves the rate of a type to the connections that handle it', async () => {
      const others = [await consume(['x']), await consume(['y']), await consume(['z'])];
      const shop = await consume([{ type: 'a', rate: { max: 4, perMs: 60_000 } }]);
      await shop.transport.publish(Array.from({ length: 6 }, () => envelope('a')));
      await until(() => shop.waiting.length === 4);
      await advance(20);
      expect(shop.waiting).toHaveLength(4);
      expect(others.flatMap(({ waiting }) => waiting)).toEqual([]);
    });

    it('retries and dead letters survive a change of the limits', async () => {
      const one = await consume(['a']);
      await one.transport.publish([envelope('a'), envelope('a')]);
      await (await next(one)).commit(retry(30));
      const doomed = await next(one);
      await doomed.commit(failed('no'));
      const two = await consume([{ type: 'a', concurrency: 1 }]);
      await one.transport.close({ drainMs: 0 });
      const retried = await next(two);
      expect(retried.attempt).toBe(2);
      await retried.commit(completed());
      expect(await two.transport.deadLetters.replay(doomed.envelope.id)).toBe(true);
      await (await next(two)).commit(completed());
      expect(await counts(two.transport, 'a')).toMatchObject({ received: 3, completed: 2, failed: 1, pending: 0 });
    });
  });

  describe('starting and stopping with a backlog', () => {
    it('delivers each event once while connections come and go', async () => {
      const producer = connect('web');
      const first = await consume(['a', 'b'], { concurrency: 4 });
      await producer.publish(Array.from({ length: 60 }, (_, n) => envelope(n % 3 === 0 ? 'b' : 'a')));
      let open = first;
      for (const subscriptions of [
        ['a', 'b'],
        [{ type: 'a', concurrency: 2 }, 'b'],
        ['a', 'b', 'c'],
        ['b', 'a'],
      ]) {
        const following = await consume(subscriptions as (string | Subscription)[], { concurrency: 4 });
        await until(() => open.waiting.length + following.waiting.length > 0);
        for (const connection of [open, following]) {
          if (connection.waiting.length > 0) await connection.shift().commit(completed());
        }
        await open.transport.close({ drainMs: 0 });
        open = following;
      }
      await completeAll('a', 40, open);
      await completeAll('b', 20, open);
      expect(await counts(producer, 'a')).toMatchObject({ received: 40, completed: 40, pending: 0, active: 0 });
      expect(await counts(producer, 'b')).toMatchObject({ received: 20, completed: 20, pending: 0, active: 0 });
      await producer.close({ drainMs: 0 });
    });
  });
}
