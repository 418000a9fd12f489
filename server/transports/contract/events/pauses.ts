import { describe, expect, it } from 'vitest';
import type { FailedOutcome, Subscription } from '../../delivery.js';
import type { PausedTypes } from '../../transport.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, retry, suspended } from '../outcome.js';
import { resolution } from '../runs/run-stage.js';

const none: PausedTypes['types'] = [];

/** Tests pauses: of a paused type nothing starts, and everything else goes on. */
export function describePauses({ advance, connect, consume, counts, next, until }: ContractStage): void {
  let revision = 0;
  const pause = async ({ transport }: Pick<Consumption, 'transport'>, types: PausedTypes['types']): Promise<void> => {
    revision += 1;
    await transport.pause({ revision, types });
  };
  const ids = async (shop: Consumption, count: number): Promise<string[]> => {
    const found: string[] = [];
    while (found.length < count) {
      const delivery = await next(shop);
      found.push(delivery.envelope.id);
      await delivery.commit(completed());
    }
    return found;
  };
  const startsNothing = async (shop: Consumption): Promise<void> => {
    await advance(60);
    expect(shop.waiting.map((delivery) => delivery.envelope.id)).toEqual([]);
  };

  /** The delays of a type have ended: a machine that stalls sees that late. */
  const allDue = (shop: Consumption): Promise<void> =>
    until(async () => (await counts(shop.transport, 'a')).delayed === 0);

  describe('pauses', () => {
    const kinds: [string, Subscription][] = [
      ['without limits', { type: 'a' }],
      ['with a concurrency', { type: 'a', concurrency: 2 }],
      ['with a rate', { type: 'a', rate: { max: 100, perMs: 1 } }],
      ['with keys', { type: 'a', perKey: { concurrency: 1 } }],
      ['of runs', { type: 'a', retainsRuns: true }],
    ];

    it.each(kinds)('hold a type %s, whatever waits or arrives, until it is resumed', async (_, subscription) => {
      const shop = await consume([subscription, 'b']);
      const delayed = envelope('a', { key: 'k', delayMs: 20 });
      await pause(shop, ['a']);
      const [first, other, last] = [envelope('a', { key: 'k' }), envelope('b'), envelope('a', { key: 'k' })];
      await shop.transport.publish([delayed, first]);
      await shop.transport.publish([other, last]);
      expect(await ids(shop, 1)).toEqual([other.id]);
      await allDue(shop);
      await startsNothing(shop);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 3, pending: 3, active: 0, delayed: 0 });
      await pause(shop, none);
      expect((await ids(shop, 3)).toSorted()).toEqual([delayed.id, first.id, last.id].toSorted());
      expect(await counts(shop.transport, 'a')).toMatchObject({ completed: 3, pending: 0 });
    });

    it.each(kinds)('leave what runs of a type %s alone, and hold its retry', async (_, subscription) => {
      const shop = await consume([subscription]);
      const [done, retried] = [envelope('a', { key: 'k' }), envelope('a', { key: 'o' })];
      await shop.transport.publish([done, retried]);
      const running = [await next(shop), await next(shop)];
      await pause(shop, ['a']);
      for (const delivery of running) {
        const outcome = delivery.envelope.id === done.id ? completed() : retry(5);
        expect(await delivery.commit(outcome)).toBe('ok');
      }
      await allDue(shop);
      await startsNothing(shop);
      expect(await counts(shop.transport, 'a')).toMatchObject({ completed: 1, pending: 1, active: 0, delayed: 0 });
      await pause(shop, none);
      const second = await next(shop);
      expect(second).toMatchObject({ attempt: 2, envelope: { id: retried.id } });
      await second.commit(completed());
    });

    it('resolve the waits of a run by time, by an event and by its child, and hold the run', async () => {
      const runs: Subscription = { type: 'run', retainsRuns: true };
      const shop = await consume([runs, { type: 'child', retainsRuns: true }, 'go']);
      await shop.transport.publish([envelope('run')]);
      const run = await next(shop);
      // Before the wait: a machine that stalls might resume the run before the pause.
      await pause(shop, ['run']);
      await run.wait([
        { key: 'sleep', delayMs: 10 },
        { key: 'event', event: { type: 'go', key: 'k' } },
        { key: 'child', run: envelope('child', { parent: { type: 'run', id: run.envelope.id, wait: 'child' } }) },
      ]);
      await run.commit(suspended(0));
      await shop.transport.publish([envelope('go', { key: 'k', body: '7' })]);
      expect(await ids(shop, 2)).toHaveLength(2);
      await until(async () => (await shop.transport.runs.get('run', run.envelope.id))?.checkpoints.size === 3);
      await startsNothing(shop);
      expect(await counts(shop.transport, 'run')).toMatchObject({ pending: 1, active: 0, suspended: 0 });
      await pause(shop, none);
      const resumed = await next(shop);
      expect(resolution(resumed, 'sleep')).toEqual({ by: 'time' });
      expect(resolution(resumed, 'event')).toMatchObject({ by: 'event', payload: 7 });
      await resumed.commit(completed());
    });

    it('hold a run that is released, for what it then waits too', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      await shop.transport.publish([envelope('run')]);
      const run = await next(shop);
      await pause(shop, 'all');
      await run.checkpoint('one', '1');
      expect(await run.commit({ status: 'released', durationMs: 1, delayMs: 0 })).toBe('ok');
      await startsNothing(shop);
      await pause(shop, none);
      const resumed = await next(shop);
      expect([resumed.attempt, resumed.checkpoints.get('one')]).toEqual([1, '1']);
      await resumed.commit(completed());
    });

    it('hold all types of a service, also of a connection that starts later, and no other service', async () => {
      const shop = await consume(['a']);
      const mail = await consume(['a', 'b'], { service: 'mail' });
      await pause(shop, 'all');
      const later = await consume(['b', { type: 'c', concurrency: 1 }]);
      const sent = [envelope('a'), envelope('b'), envelope('c')];
      await shop.transport.publish(sent);
      expect(await ids(mail, 2)).toHaveLength(2);
      await startsNothing(shop);
      await startsNothing(later);
      await pause(later, ['c']);
      expect(await ids(shop, 1)).toEqual([sent[0]?.id]);
      expect(await ids(later, 1)).toEqual([sent[1]?.id]);
      await startsNothing(later);
      await pause(shop, none);
      expect(await ids(later, 1)).toEqual([sent[2]?.id]);
    });

    it('hold what waits before the first delivery of a connection that was paused before its start', async () => {
      const before = await consume(['a', 'b']);
      await before.transport.close({ drainMs: 0 });
      const sent = [envelope('a'), envelope('b')];
      await before.transport.publish(sent);
      const transport = connect('shop');
      await pause({ transport }, ['a']);
      const shop = { transport, waiting: [] as string[] };
      await transport.start({
        subscriptions: [{ type: 'a' }, { type: 'b' }],
        concurrency: 10,
        onDelivery(delivery) {
          shop.waiting.push(delivery.envelope.type);
          void delivery.commit(completed());
        },
      });
      await until(() => shop.waiting.includes('b'));
      await advance(60);
      expect(shop.waiting).toEqual(['b']);
      await pause(shop, none);
      await until(() => shop.waiting.includes('a'));
      await until(async () => (await counts(transport, 'a')).completed === 1);
      await transport.close({ drainMs: 0 });
    });

    it('are not changed by a connection that knows an earlier revision', async () => {
      const [shop, late] = [await consume(['a']), await consume(['a'])];
      await pause(shop, ['a']);
      await late.transport.pause({ revision: revision - 1, types: [] });
      await shop.transport.publish([envelope('a')]);
      await startsNothing(shop);
      await startsNothing(late);
      await late.transport.pause({ revision, types: ['a'] });
      await startsNothing(late);
      await pause(late, none);
      await until(() => shop.waiting.length + late.waiting.length === 1);
    });

    it('hold an event that a closing connection releases, with no attempt spent', async () => {
      const [one, other] = [await consume(['a']), await consume(['a'])];
      await one.transport.publish([envelope('a')]);
      await until(() => one.waiting.length + other.waiting.length === 1);
      const [owner, rest] = one.waiting.length === 1 ? [one, other] : [other, one];
      await pause(rest, ['a']);
      await owner.transport.close({ drainMs: 0 });
      await startsNothing(rest);
      expect(await counts(rest.transport, 'a')).toMatchObject({ pending: 1, active: 0 });
      await pause(rest, none);
      const again = await next(rest);
      expect(again.attempt).toBe(1);
      await again.commit(completed());
    });

    it('let a connection drain without the events that they hold', async () => {
      const shop = await consume(['a', 'b']);
      await pause(shop, ['a']);
      await shop.transport.publish([envelope('a')]);
      expect(await shop.transport.close({ drainMs: 600_000 })).toEqual({ released: 0, overdue: 0 });
      const next = await consume(['a']);
      await startsNothing(next);
      await pause(next, none);
      expect(await ids(next, 1)).toHaveLength(1);
    });

    it('let debounce windows end: the event of the next window is another one', async () => {
      const shop = await consume([{ type: 'a', debounce: { ms: 100 }, perKey: {} }]);
      await pause(shop, ['a']);
      const sent = [envelope('a', { key: 'k', body: '0' })];
      await shop.transport.publish(sent);
      for (let isDeduplicated = true; isDeduplicated; ) {
        // A worker that is late has yet to end the window.
        await advance(150);
        const later = envelope('a', { key: 'k', body: String(sent.length) });
        isDeduplicated = (await shop.transport.publish([later])).some(({ deduplicated }) => deduplicated);
        sent.push(later);
      }
      await startsNothing(shop);
      await pause(shop, none);
      const bodies = [(await next(shop)).envelope.body, (await next(shop)).envelope.body];
      expect(bodies).toEqual([String(sent.length - 2), String(sent.length - 1)]);
    });

    it('cancel what they hold, refuse duplicates, and hold a replayed dead letter', async () => {
      const shop = await consume(['a']);
      const dead = envelope('a');
      await shop.transport.publish([dead]);
      await (await next(shop)).commit(failed('for good'));
      await pause(shop, ['a']);
      const dedupe = { id: 'once', windowMs: 60_000 };
      const [first, second] = [envelope('a', { dedupe }), envelope('a', { dedupe })];
      await shop.transport.publish([first]);
      expect(await shop.transport.publish([second])).toEqual([{ id: first.id, deduplicated: true }]);
      const error = { name: 'CancelledError', message: 'cancelled' };
      const cancelled: FailedOutcome = { status: 'failed', cancelled: true, durationMs: 0, error, followUps: [] };
      expect(await shop.transport.runs.cancel(first.id, () => cancelled)).toBe(true);
      expect(await shop.transport.deadLetters.replay(dead.id)).toBe(true);
      await startsNothing(shop);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 3, failed: 2, cancelled: 1, pending: 1 });
      await pause(shop, none);
      expect(await ids(shop, 1)).toEqual([dead.id]);
    });
  });
}
