import { describe, expect, it } from 'vitest';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, suspended } from '../outcome.js';
import { createRunStage, resolution, runs } from './run-stage.js';

/** Registers the tests of waits and suspended runs. */
export function describeSuspensions(stage: ContractStage): void {
  const { consume, next, until, advance, counts, inTime } = stage;
  const { startRun, state } = createRunStage(stage);

  describe('suspended runs', () => {
    it('leave their connection and resume by time, without a new attempt', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([{ key: 'sleep', delayMs: 200 }]);
      await delivery.commit(suspended(0));
      const resumed = await next(shop);
      expect(resumed).toMatchObject({ attempt: 1, envelope: { id: delivery.envelope.id } });
      expect(resolution(resumed, 'sleep')).toEqual({ by: 'time' });
      expect(await counts(shop.transport, 'run')).toMatchObject({ active: 1, suspended: 0, retried: 0 });
      await resumed.commit(completed());
      const end = { received: 1, completed: 1, pending: 0, active: 0, suspended: 0 };
      expect(await counts(shop.transport, 'run')).toMatchObject(end);
    });

    it('take no slot while they sleep', async () => {
      const shop = await consume([runs], { concurrency: 1 });
      const delivery = await startRun(shop);
      expect(await delivery.wait([{ key: 'sleep', delayMs: 60_000 }])).toBe('ok');
      expect(await delivery.commit(suspended(0))).toBe('ok');
      expect(await counts(shop.transport, 'run')).toMatchObject({ pending: 1, active: 0, suspended: 1 });
      const [status, waits] = await state(shop, delivery);
      expect(status).toBe('suspended');
      expect(waits).toEqual([{ key: 'sleep', since: expect.any(Number), dueAt: expect.any(Number) }]);
      await (await startRun(shop)).commit(completed());
      const counted = { received: 2, completed: 1, pending: 1, active: 0, suspended: 1 };
      expect(await counts(shop.transport, 'run')).toMatchObject(counted);
    });

    it('resume by the next event of a type with the key, emitted by any service', async () => {
      const shop = await consume([runs]);
      const mail = await consume(['reply'], { service: 'mail' });
      const delivery = await startRun(shop);
      await mail.transport.publish([envelope('reply', { key: 'k', body: '"early"' })]);
      await delivery.wait([{ key: 'wait', event: { type: 'reply', key: 'k' } }]);
      await delivery.commit(suspended(0));
      expect((await state(shop, delivery))[1]).toMatchObject([{ key: 'wait', event: { type: 'reply', key: 'k' } }]);
      await mail.transport.publish([
        envelope('reply', { key: 'other', body: '1' }),
        envelope('reply', { body: '2' }),
        envelope('reply', { key: 'k', id: 'matching', body: '{"n":3}' }),
        envelope('reply', { key: 'k', body: '4' }),
      ]);
      const resumed = await next(shop);
      expect(resolution(resumed, 'wait')).toEqual({ by: 'event', id: 'matching', payload: { n: 3 } });
      expect(await counts(mail.transport, 'reply')).toMatchObject({ received: 5 });
    });

    it('resume by any event of a type if no key is given, and one event resolves several runs', async () => {
      const shop = await consume([runs]);
      for (const n of [1, 2]) {
        const delivery = await startRun(shop);
        await delivery.wait([{ key: `wait ${n}`, event: { type: 'unhandled', key: undefined } }]);
        await delivery.commit(suspended(0));
      }
      await shop.transport.publish([envelope('unhandled', { key: 'any', body: '7' })]);
      expect(resolution(await next(shop), 'wait 1')).toMatchObject({ by: 'event', payload: 7 });
      expect(resolution(await next(shop), 'wait 2')).toMatchObject({ by: 'event', payload: 7 });
      expect(await counts(shop.transport, 'unhandled')).toMatchObject({ received: 1, completed: 1, pending: 0 });
    });

    it('resume by an event that a follow-up or a step emits', async () => {
      const shop = await consume([runs, 'a']);
      const delivery = await startRun(shop);
      const event = { type: 'reply', key: undefined };
      await delivery.wait([{ key: 'first', event }]);
      await delivery.commit(suspended(0));
      await shop.transport.publish([envelope('a')]);
      await (await next(shop)).commit(completed([envelope('reply')]));
      const resumed = await next(shop);
      expect(resolution(resumed, 'first')).toMatchObject({ by: 'event' });
      await resumed.wait([{ key: 'second', event }]);
      await resumed.checkpoint('step', '1', [envelope('reply', { id: 'emitted' })]);
      await resumed.commit(suspended(1));
      expect(resolution(await next(shop), 'second')).toMatchObject({ by: 'event', id: 'emitted' });
    });

    it('are resolved by the first of their conditions alone', async () => {
      const shop = await consume([runs]);
      const event = { type: 'reply', key: undefined };
      const byEvent = await inTime(500, async () => {
        const early = await startRun(shop);
        await early.wait([{ key: 'wait', event, delayMs: 500 }]);
        await early.commit(suspended(0));
        await shop.transport.publish([envelope('reply')]);
        return next(shop);
      });
      await advance(550);
      expect(resolution(byEvent, 'wait')).toMatchObject({ by: 'event' });
      expect((await state(shop, byEvent))[1]).toEqual([]);
      await byEvent.commit(completed());
      const late = await startRun(shop);
      await late.wait([{ key: 'wait', event, delayMs: 50 }]);
      await late.commit(suspended(0));
      const byTime = await next(shop);
      await shop.transport.publish([envelope('reply')]);
      expect(resolution(byTime, 'wait')).toEqual({ by: 'time' });
    });

    it('resume at once if more is recorded than the delivery knows', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([{ key: 'wait', event: { type: 'reply', key: undefined } }]);
      await shop.transport.publish([envelope('reply')]);
      await until(async () => (await shop.transport.runs.get('run', delivery.envelope.id))?.checkpoints.size === 1);
      await delivery.commit(suspended(0));
      expect(resolution(await next(shop), 'wait')).toMatchObject({ by: 'event' });
      expect(await counts(shop.transport, 'run')).toMatchObject({ active: 1, suspended: 0 });
    });

    it('tell a delivery of every entry in the order of recording', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      const told: string[] = [];
      delivery.onRecorded = (key) => told.push(key);
      await delivery.wait([
        { key: 'event', event: { type: 'reply', key: undefined } },
        { key: 'never', delayMs: 60_000 },
      ]);
      await delivery.checkpoint('one', '1');
      expect(told).toEqual(['one']);
      await shop.transport.publish([envelope('reply')]);
      await until(() => told.length === 2);
      await delivery.checkpoint('two', '2');
      await delivery.wait([{ key: 'time', delayMs: 20 }]);
      await until(() => told.length === 4);
      expect(told).toEqual(['one', 'event', 'two', 'time']);
      expect([...((await shop.transport.runs.get('run', delivery.envelope.id))?.checkpoints.keys() ?? [])]).toEqual(
        told,
      );
      expect(await counts(shop.transport, 'run')).toMatchObject({ active: 1, suspended: 0 });
    });

    it('store a wait once per key', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([{ key: 'wait', delayMs: 50 }]);
      await delivery.wait([{ key: 'wait', delayMs: 600_000 }]);
      await delivery.commit(suspended(0));
      const resumed = await next(shop);
      await resumed.wait([{ key: 'wait', delayMs: 10 }]);
      expect((await state(shop, resumed))[1]).toEqual([]);
      expect([...resumed.checkpoints.keys()]).toEqual(['wait']);
    });

    it('store as many waits as a turn has', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      const waits = Array.from({ length: 16_000 }, (_, index) => ({
        key: `wait ${String(index).padStart(5, '0')}`,
        delayMs: 600_000,
      }));
      expect(await delivery.wait(waits)).toBe('ok');
      expect((await state(shop, delivery))[1]).toHaveLength(waits.length);
    });

    it('count a retry that waits', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([{ key: 'retry', delayMs: 60_000, isRetry: true }]);
      await delivery.commit(suspended(0));
      expect(await counts(shop.transport, 'run')).toMatchObject({ retried: 1, suspended: 1 });
    });

    it('refuse waits from a delivery that lost its lease or ended its run', async () => {
      const shop = await consume([runs], { concurrency: 1 });
      const interrupted = await startRun(shop);
      await shop.transport.close({ drainMs: 0 });
      const again = await consume([runs]);
      const resumed = await next(again);
      expect(await interrupted.wait([{ key: 'late', delayMs: 1 }])).toBe('fenced');
      await resumed.commit(completed());
      expect(await resumed.wait([{ key: 'late', delayMs: 1 }])).toBe('fenced');
      expect((await state(again, resumed))[1]).toEqual([]);
    });

    it('return to the transport without an attempt if they are released', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.checkpoint('one', '1');
      await delivery.commit({ status: 'released', durationMs: 1, delayMs: 50 });
      const resumed = await next(shop);
      expect(resumed.attempt).toBe(1);
      expect([...resumed.checkpoints.keys()]).toEqual(['one']);
      await resumed.commit({ status: 'released', durationMs: 1, delayMs: 60_000 });
      expect(await counts(shop.transport, 'run')).toMatchObject({ pending: 1, active: 0, suspended: 0, retried: 0 });
    });

    it('keep their waits while another delivery has them, and show those that are open at their end', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([
        { key: 'short', delayMs: 50 },
        { key: 'long', delayMs: 600_000 },
      ]);
      await delivery.commit(suspended(0));
      const resumed = await next(shop);
      expect((await state(shop, resumed))[1]).toMatchObject([{ key: 'long' }]);
      await resumed.commit(completed());
      expect(await state(shop, resumed)).toMatchObject(['completed', [{ key: 'long' }]]);
    });
  });
}
