import { describe, expect, it } from 'vitest';
import type { Delivery, Envelope, OpenWait, Outcome, RunStatus, Subscription } from '../../transport.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed } from '../outcome.js';

const runs: Subscription = { type: 'run', keepsRuns: true };
const children: Subscription = { type: 'child', keepsRuns: true };
const cancelled = new Error('cancelled');

/** Returns the outcome of a delivery that suspends its run. */
function suspended(seen: number): Outcome {
  return { status: 'suspended', durationMs: 1, seen };
}

/** Returns an entry that the transport recorded, without its times. */
function resolution(delivery: Pick<Delivery, 'checkpoints'>, key: string): unknown {
  const json = delivery.checkpoints.get(key);
  if (json === undefined) throw new Error(`no entry ${key} is recorded`);
  const { since, at, ...fields } = JSON.parse(json) as { since: number; at: number };
  expect(at).toBeGreaterThanOrEqual(since);
  return fields;
}

/** Registers the tests of waits and suspended runs. */
export function describeSuspensions(stage: ContractStage): void {
  const { consume, next, until, advance, counts } = stage;

  async function startRun(shop: Consumption, fields: Partial<Envelope> = {}): Promise<Delivery> {
    await shop.transport.publish([envelope('run', fields)]);
    return next(shop);
  }

  async function state(shop: Consumption, { envelope: { type, id } }: Delivery): Promise<[RunStatus, OpenWait[]]> {
    const record = await shop.transport.run(type, id);
    if (record === undefined) throw new Error(`run ${id} is unknown`);
    return [record.status, [...record.waits]];
  }

  describe('suspended runs', () => {
    it('leave their connection and resume by time, without a new attempt', async () => {
      const shop = await consume([runs], { concurrency: 1 });
      const delivery = await startRun(shop);
      expect(await delivery.wait([{ key: 'sleep', delayMs: 200 }])).toBe('ok');
      expect(await delivery.commit(suspended(0))).toBe('ok');
      expect(await counts(shop.transport, 'run')).toMatchObject({ pending: 1, active: 0, suspended: 1 });
      const [status, waits] = await state(shop, delivery);
      expect(status).toBe('suspended');
      expect(waits).toEqual([{ key: 'sleep', since: expect.any(Number), dueAt: expect.any(Number) }]);
      // The slot is free: another run takes it.
      const other = await startRun(shop);
      await other.commit(completed());
      await advance(250);
      const resumed = await next(shop);
      expect(resumed).toMatchObject({ attempt: 1, envelope: { id: delivery.envelope.id } });
      expect(resolution(resumed, 'sleep')).toEqual({ by: 'time' });
      expect(await counts(shop.transport, 'run')).toMatchObject({ active: 1, suspended: 0, retried: 0 });
      await resumed.commit(completed());
      const end = { received: 2, completed: 2, pending: 0, active: 0, suspended: 0 };
      expect(await counts(shop.transport, 'run')).toMatchObject(end);
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
      const early = await startRun(shop);
      await early.wait([{ key: 'wait', event, delayMs: 200 }]);
      await early.commit(suspended(0));
      await shop.transport.publish([envelope('reply')]);
      const byEvent = await next(shop);
      await advance(250);
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
      await until(async () => (await shop.transport.run('run', delivery.envelope.id))?.checkpoints.size === 1);
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
        { key: 'time', delayMs: 100 },
      ]);
      await delivery.checkpoint('one', '1');
      expect(told).toEqual(['one']);
      await shop.transport.publish([envelope('reply')]);
      await until(() => told.length === 2);
      await delivery.checkpoint('two', '2');
      await advance(150);
      await until(() => told.length === 4);
      expect(told).toEqual(['one', 'event', 'two', 'time']);
      expect([...((await shop.transport.run('run', delivery.envelope.id))?.checkpoints.keys() ?? [])]).toEqual(told);
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

    it('count a retry that waits', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop);
      await delivery.wait([{ key: 'retry', delayMs: 50, isRetry: true }]);
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
      expect(await counts(shop.transport, 'run')).toMatchObject({ pending: 1, active: 0, suspended: 0, retried: 0 });
      const resumed = await next(shop);
      expect(resumed.attempt).toBe(1);
      expect([...resumed.checkpoints.keys()]).toEqual(['one']);
    });

    it('keep their waits while another delivery has them', async () => {
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
      expect((await state(shop, resumed))[1]).toEqual([]);
    });
  });

  describe('child runs', () => {
    function childOf(parent: Delivery, fields: Partial<Envelope> = {}): Envelope {
      const { type, id } = parent.envelope;
      return envelope('child', { parent: { type, id, wait: 'invoke' }, causeId: id, ...fields });
    }

    it('are accepted once with the wait, for the service of their parent, and resolve it', async () => {
      const shop = await consume([runs, children]);
      const other = await consume([children], { service: 'other' });
      const parent = await startRun(shop);
      const run = childOf(parent, { body: '"in"' });
      await parent.wait([{ key: 'invoke', run }]);
      await parent.wait([{ key: 'invoke', run }]);
      await parent.commit(suspended(0));
      const child = await next(shop);
      expect(child.envelope).toMatchObject({ id: run.id, body: '"in"' });
      expect((await state(shop, parent))[1]).toMatchObject([{ key: 'invoke', runId: run.id }]);
      await child.commit({ ...completed(), result: '{"n":1}' });
      const resumed = await next(shop);
      const end = { by: 'run', id: run.id, status: 'completed', result: { n: 1 } };
      expect(resolution(resumed, 'invoke')).toEqual(end);
      expect(await counts(shop.transport, 'child')).toMatchObject({ received: 1, completed: 1, pending: 0 });
      expect(other.waiting).toEqual([]);
    });

    it('resolve the wait with their error', async () => {
      const shop = await consume([runs, children]);
      const parent = await startRun(shop);
      const run = childOf(parent);
      await parent.wait([{ key: 'invoke', run }]);
      await parent.commit(suspended(0));
      await (await next(shop)).commit(failed('no'));
      const error = { name: 'Error', message: 'no' };
      expect(resolution(await next(shop), 'invoke')).toEqual({ by: 'run', id: run.id, status: 'failed', error });
    });

    it('end with a parent that is ended from outside, recursively, and emit what was stored for that', async () => {
      const shop = await consume([runs, children, 'cancelled']);
      const parent = await startRun(shop);
      const run = childOf(parent);
      await parent.wait([{ key: 'invoke', run, onCancel: [envelope('cancelled', { body: '"child"' })] }]);
      await parent.commit(suspended(0));
      const child = await next(shop);
      const grandchild = envelope('child', { parent: { type: 'child', id: run.id, wait: 'invoke' }, delayMs: 600_000 });
      await child.wait([{ key: 'invoke', run: grandchild }]);
      await child.commit(suspended(0));
      const outcome = failed('cancelled');
      expect(await shop.transport.endRun('run', parent.envelope.id, outcome, cancelled)).toBe('ok');
      expect((await next(shop)).envelope).toMatchObject({ type: 'cancelled', body: '"child"' });
      for (const id of [run.id, grandchild.id]) {
        const record = await shop.transport.run('child', id);
        expect(record).toMatchObject({ status: 'failed', error: { message: 'cancelled' }, waits: [] });
      }
      const none = { pending: 0, active: 0, suspended: 0 };
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 1, failed: 1, ...none });
      expect(await counts(shop.transport, 'child')).toMatchObject({ received: 2, failed: 2, ...none });
      expect(await shop.transport.deadLetters('child', 9)).toEqual([]);
    });

    it('lose their lease if they run when their parent is ended', async () => {
      const shop = await consume([runs, children]);
      const parent = await startRun(shop);
      await parent.wait([{ key: 'invoke', run: childOf(parent) }]);
      const child = await next(shop);
      const reasons: Error[] = [];
      child.onRevoked = (reason) => reasons.push(reason);
      await shop.transport.endRun('run', parent.envelope.id, failed('cancelled'), cancelled);
      await until(() => reasons.length > 0);
      expect(await child.commit(completed())).toBe('already');
    });

    it('go on if their parent completes without them', async () => {
      const shop = await consume([runs, children]);
      const parent = await startRun(shop);
      await parent.wait([{ key: 'invoke', run: childOf(parent) }]);
      await parent.commit(completed());
      const child = await next(shop);
      expect(await child.commit(completed())).toBe('ok');
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 1, completed: 1, pending: 0 });
    });
  });

  describe('entries of a run', () => {
    it('are accepted with the events that they emit, once', async () => {
      const shop = await consume([runs, 'a']);
      const delivery = await startRun(shop);
      expect(await delivery.checkpoint('step', '1', [envelope('a'), envelope('a')])).toBe('ok');
      expect(await delivery.checkpoint('step', '1', [envelope('a')])).toBe('already');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2 });
      await next(shop);
      await next(shop);
      expect(shop.waiting).toEqual([]);
    });

    it('are refused from another delivery that records the same key', async () => {
      const shop = await consume([runs, 'a'], { concurrency: 1 });
      const first = await startRun(shop);
      await first.checkpoint('step', '1');
      await first.commit({ status: 'released', durationMs: 1, delayMs: 0 });
      const second = await next(shop);
      expect(await second.checkpoint('step', '2', [envelope('a')])).toBe('fenced');
      expect(second.checkpoints.get('step')).toBe('1');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 0 });
    });
  });

  describe('retention of runs', () => {
    it('counts completed and failed runs apart', async () => {
      const shop = await consume([{ ...runs, retain: { completed: 2, failed: 1 } }]);
      const ids: string[] = [];
      for (const outcome of [completed(), failed('no'), completed(), completed(), failed('no')]) {
        const delivery = await startRun(shop);
        ids.push(delivery.envelope.id);
        await delivery.commit(outcome);
      }
      const records = await Promise.all(ids.map((id) => shop.transport.run('run', id)));
      expect(records.map((record) => record?.status)).toEqual([
        undefined,
        undefined,
        'completed',
        'completed',
        'failed',
      ]);
    });

    it('ends with their age, and not before for a result that is awaited', async () => {
      const shop = await consume([{ ...runs, retain: { completed: 9, failed: 9, ageMs: 500 } }]);
      const delivery = await startRun(shop);
      const { id } = delivery.envelope;
      const ended = shop.transport.runEnded('run', id, new AbortController().signal);
      await delivery.commit({ ...completed(), result: '1' });
      expect(await ended).toMatchObject({ result: '1' });
      expect(await shop.transport.run('run', id)).toMatchObject({ status: 'completed' });
      await advance(600);
      await until(async () => (await shop.transport.run('run', id)) === undefined);
    });
  });
}
