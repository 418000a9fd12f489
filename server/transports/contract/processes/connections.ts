import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed } from '../outcome.js';

/** Tests several connections to one transport: services, closing, descriptions. */
export function describeConnections({ advance, connect, consume, counts, next, until }: ContractStage): void {
  describe('services', () => {
    it('with different names each receive every event of a type that they handle', async () => {
      const shop = await consume(['a']);
      const mail = await consume(['a', 'b'], { service: 'mail' });
      await shop.transport.publish([envelope('a'), envelope('b')]);
      await (await next(shop)).commit(completed());
      const mailed = [await next(mail), await next(mail)];
      expect(mailed.map((delivery) => delivery.envelope.type).sort()).toEqual(['a', 'b']);
      for (const delivery of mailed) await delivery.commit(failed('no'));
      const [a, b] = await shop.transport.counts.get(['a', 'b']);
      expect(a?.total).toMatchObject({ received: 2, completed: 1, failed: 1, pending: 0 });
      expect(a?.services.map(({ service }) => service).sort()).toEqual(['mail', 'shop']);
      expect(b?.total).toMatchObject({ received: 1, failed: 1 });
      expect(await mail.transport.counts.metrics('a')).toMatchObject({ received: 2, completed: 1, failed: 1 });
    });

    it('with the same name share the events: each event runs once', async () => {
      const one = await consume(['a'], { concurrency: 3 });
      const two = await consume(['a'], { concurrency: 3 });
      await one.transport.publish(Array.from({ length: 6 }, () => envelope('a')));
      await until(() => one.waiting.length === 3 && two.waiting.length === 3);
      const ids = [...one.waiting, ...two.waiting].map((delivery) => delivery.envelope.id);
      expect(new Set(ids).size).toBe(6);
    });

    it('call onDrained after the last outcome, while their parts work', async () => {
      const shop = connect('shop');
      const [deliveries, seen]: [Delivery[], unknown[]] = [[], []];
      await shop.start({
        ...{ concurrency: 1, subscriptions: [{ type: 'a' }] },
        onDelivery: (delivery) => deliveries.push(delivery),
        onDrained: async () => {
          const [found] = await shop.counts.get(['a']);
          seen.push(found?.total.pending, await shop.kv.compareAndSet('end', undefined, 'drained'));
        },
      });
      await shop.publish([envelope('a')]);
      await until(() => deliveries.length > 0);
      const closed = shop.close({ drainMs: 60_000 });
      await deliveries[0]?.commit(completed());
      await closed;
      expect(seen).toEqual([0, true]);
      const web = await consume([], { service: 'web' });
      expect(await web.transport.kv.get('end')).toBe('drained');
    });

    it('subscribe to nothing if onRegister rejects, and then can start', async () => {
      const shop = connect('shop');
      const options = { concurrency: 1, onDelivery: () => {} };
      const refuse = (): Promise<never> => Promise.reject(new Error('refused'));
      const start = shop.start({ ...options, subscriptions: [{ type: 'a' }], onRegister: refuse });
      await expect(start).rejects.toThrow('refused');
      const web = await consume([], { service: 'web' });
      expect(await web.transport.publish([envelope('a')])).toMatchObject([{ unsubscribed: true }]);
      expect(await web.transport.fleet.processes()).toHaveLength(1);
      let registrations = 0;
      const onRegister = async (): Promise<void> => {
        registrations += 1;
      };
      await shop.start({ ...options, subscriptions: [{ type: 'b' }], onRegister });
      expect(registrations).toBe(1);
      const [receipt] = await web.transport.publish([envelope('b')]);
      expect(receipt?.unsubscribed).toBeUndefined();
      await shop.close({ drainMs: 0 });
    });

    it('retain events of a type that a restarted service no longer handles until a connection handles it', async () => {
      const before = await consume(['a', 'dropped']);
      await before.transport.close({ drainMs: 0 });
      const after = await consume(['a']);
      await after.transport.publish([envelope('dropped'), envelope('a')]);
      expect((await next(after)).envelope.type).toBe('a');
      expect(await counts(after.transport, 'dropped')).toMatchObject({ received: 1, pending: 1, active: 0 });
      const again = await consume(['dropped']);
      expect((await next(again)).envelope.type).toBe('dropped');
    });
  });

  describe('closing', () => {
    it('waits for running deliveries', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a')]);
      const delivery = await next(shop);
      const closing = shop.transport.close({ drainMs: 60_000 });
      await advance(20);
      await delivery.commit(completed());
      expect(await closing).toEqual({ released: 0, overdue: 0 });
    });

    it('revokes and releases at the deadline without counting the attempt, and fences late commits', async () => {
      const one = await consume(['a']);
      await one.transport.publish([envelope('a')]);
      const interrupted = await next(one);
      const reasons: Error[] = [];
      interrupted.onRevoked = (reason) => void reasons.push(reason);
      const two = await consume(['a']);
      const closing = one.transport.close({ drainMs: 30 });
      await advance(50);
      expect(await closing).toEqual({ released: 1, overdue: 0 });
      expect(reasons).toMatchObject([{ code: 'ERR_SHUTDOWN' }]);
      const taken = await next(two);
      expect(taken.attempt).toBe(1);
      expect(taken.envelope.id).toBe(interrupted.envelope.id);
      expect(await interrupted.commit(completed())).toBe('fenced');
      expect(await counts(two.transport, 'a')).toMatchObject({ received: 1, completed: 0, active: 1 });
      expect(await taken.commit(completed())).toBe('ok');
      expect(await interrupted.commit(failed('late'))).toBe('already');
      expect(await counts(two.transport, 'a')).toMatchObject({ received: 1, completed: 1, failed: 0, pending: 0 });
    });

    it('does not lose an outcome that is being recorded', async () => {
      const one = await consume(['a']);
      await one.transport.publish([envelope('a')]);
      const delivery = await next(one);
      const committed = delivery.commit(completed());
      expect(await one.transport.close({ drainMs: 0 })).toEqual({ released: 0, overdue: 0 });
      expect(await committed).toBe('ok');
      const two = await consume(['a']);
      expect(await counts(two.transport, 'a')).toMatchObject({ received: 1, completed: 1, pending: 0, active: 0 });
    });

    it('retains the order of released events', async () => {
      const one = await consume(['a'], { concurrency: 3 });
      const sent = Array.from({ length: 5 }, () => envelope('a'));
      await one.transport.publish(sent);
      await until(() => one.waiting.length === 3);
      await one.transport.close({ drainMs: 0 });
      const two = await consume(['a']);
      await until(() => two.waiting.length === 5);
      expect(two.waiting.map((delivery) => delivery.envelope.id)).toEqual(sent.map(({ id }) => id));
    });
  });

  describe('registered', () => {
    it('returns the description of every open connection of every service', async () => {
      const shop = await consume(['a'], { description: '"shop 1"' });
      await consume(['b'], { service: 'mail', description: '"mail 1"' });
      const observer = await consume([], { service: 'watch', description: '"watch"' });
      const seen = async (): Promise<string[]> => [...(await observer.transport.fleet.registered())].sort();
      expect(await seen()).toEqual(['"mail 1"', '"shop 1"', '"watch"']);
      const before = await observer.transport.counts.revision();
      const web = await consume([], { description: '"shop 2"' });
      expect(await seen()).toEqual(['"mail 1"', '"shop 1"', '"shop 2"', '"watch"']);
      await web.transport.close({ drainMs: 0 });
      expect(await seen()).toEqual(['"mail 1"', '"shop 1"', '"watch"']);
      expect(await observer.transport.counts.revision()).not.toBe(before);
      expect(await shop.transport.fleet.registered()).toHaveLength(3);
    });

    it('has the state of its process beside it', async () => {
      const shop = await consume(['a'], { description: '"shop"' });
      const mail = await consume([], { service: 'mail', description: '"mail"' });
      const seen = async (): Promise<unknown> =>
        [...(await shop.transport.fleet.processes())].sort((one, other) =>
          one.description < other.description ? -1 : 1,
        );
      const stateOf = (service: string): string => JSON.stringify({ service, active: 0 });
      expect(await seen()).toEqual([
        { description: '"mail"', state: stateOf('mail') },
        { description: '"shop"', state: stateOf('shop') },
      ]);
      await mail.transport.close({ drainMs: 0 });
      expect(await seen()).toEqual([{ description: '"shop"', state: stateOf('shop') }]);
    });

    it('is part of the overview, with counts of known and unknown types and with runs', async () => {
      const shop = await consume(['a', { type: 'run', retainsRuns: true }], { description: '"shop"' });
      await shop.transport.publish([envelope('a'), envelope('run')]);
      const query = { types: ['a', 'unknown'], runTypes: ['run'], runLimit: 9 };
      expect(await shop.transport.lookup.overview(query)).toMatchObject({
        registered: ['"shop"'],
        counts: [
          { total: { received: 1 }, services: [{ service: 'shop' }] },
          { total: { received: 0 }, services: [] },
        ],
        runs: [[{ service: 'shop', attempt: 1 }]],
      });
    });
  });
}
