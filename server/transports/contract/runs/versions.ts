import { describe, expect, it } from 'vitest';
import type { Delivery, Outcome, Subscription } from '../../delivery.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, suspended } from '../outcome.js';
import { createRunStage, runs } from './run-stage.js';

function released(version: number): Outcome {
  return { status: 'released', durationMs: 1, delayMs: 0, version };
}

function versioned(version: number, limits: Omit<Subscription, 'type'> = {}): Subscription {
  return { ...runs, version, ...limits };
}

/** Registers the tests of runs that need a version of their workflow. */
export function describeVersions(stage: ContractStage): void {
  const { consume, next, until, advance, counts } = stage;
  const { startRun } = createRunStage(stage);

  async function run(shop: Consumption, { envelope: { id } }: Delivery) {
    return shop.transport.runs.get('run', id);
  }

  describe('runs that need a version', () => {
    const variants: [string, Omit<Subscription, 'type'>][] = [
      ['without limits', {}],
      ['of a type with a concurrency', { concurrency: 1 }],
      ['of a type with a rate', { rate: { max: 2, perMs: 50 } }],
      ['with keys', { perKey: { concurrency: 1 } }],
      ['of keys with a rate', { perKey: { rate: { max: 2, perMs: 50 } } }],
    ];

    it.each(variants)('go to connections with that version alone, %s', async (_, limits) => {
      const old = await consume([versioned(1, limits)]);
      const sent = Array.from({ length: 4 }, (__, n) => envelope('run', { key: `k${n}` }));
      await old.transport.publish(sent);
      const shown: unknown[] = [];
      for (const _run of sent) {
        const delivery = await next(old);
        expect(await delivery.commit(released(2))).toBe('ok');
        shown.push(await run(old, delivery));
      }
      expect(shown).toMatchObject(sent.map(() => ({ status: 'waiting', neededVersion: 2 })));
      await advance(2_000);
      expect(old.waiting).toEqual([]);
      expect(await counts(old.transport, 'run')).toMatchObject({ pending: 4, active: 0, awaitingVersion: 4 });
      // Others of the type are not held up.
      await old.transport.publish([envelope('run', { id: 'late', key: 'late' })]);
      const late = await next(old);
      expect(late.envelope.id).toBe('late');
      await late.commit(completed());
      const other = await consume([versioned(2, limits)]);
      for (let left = sent.length; left > 0; left -= 1) {
        const delivery = await next(other);
        expect(delivery.attempt).toBe(1);
        expect(await delivery.commit(completed())).toBe('ok');
      }
      expect(old.waiting).toEqual([]);
      const ended = await counts(old.transport, 'run');
      expect(ended).toMatchObject({ completed: 5, pending: 0 });
      expect(ended).not.toHaveProperty('awaitingVersion');
    });

    it('are taken by an idle connection at once, and after each wait again', async () => {
      const old = await consume([versioned(1)], { concurrency: 1 });
      const delivery = await startRun(old);
      const other = await consume([versioned(3)], { concurrency: 1 });
      await delivery.commit(released(2));
      const taken = await next(other);
      expect(await run(old, taken)).toMatchObject({ status: 'active', neededVersion: undefined });
      await taken.wait([{ key: 'sleep', delayMs: 100 }]);
      await taken.commit(suspended(0));
      const resumed = await next(other);
      expect(old.waiting).toEqual([]);
      await resumed.commit({ status: 'released', durationMs: 1, delayMs: 0 });
      await (await next(other)).commit(completed());
      expect(old.waiting).toEqual([]);
    });

    it('wait for the lowest version that takes them', async () => {
      const one = await consume([versioned(1)]);
      const two = await startRun(one);
      const three = await startRun(one);
      await two.commit(released(2));
      await three.commit(released(3));
      const second = await consume([versioned(2)]);
      expect((await next(second)).envelope.id).toBe(two.envelope.id);
      await advance(500);
      expect([one.waiting, second.waiting]).toEqual([[], []]);
      const third = await consume([versioned(3)]);
      expect((await next(third)).envelope.id).toBe(three.envelope.id);
    });

    it('wait again if the connection that had taken them closes', async () => {
      const old = await consume([versioned(1)]);
      await (await startRun(old)).commit(released(2));
      const other = await consume([versioned(2)]);
      const {
        envelope: { id },
      } = await next(other);
      await other.transport.close({ drainMs: 0 });
      await advance(2_000);
      expect(old.waiting).toEqual([]);
      expect((await old.transport.lookup.find(id))[0]).toMatchObject({ status: 'waiting', run: { neededVersion: 2 } });
      const again = await consume([versioned(2)]);
      expect((await next(again)).envelope.id).toBe(id);
    });

    it('hold their key', async () => {
      const limits = { perKey: { concurrency: 1 } };
      const old = await consume([versioned(1, limits)]);
      const first = await startRun(old, { key: 'k' });
      await old.transport.publish([envelope('run', { id: 'behind', key: 'k' })]);
      await first.commit(released(2));
      await advance(500);
      expect(old.waiting).toEqual([]);
      const other = await consume([versioned(2, limits)]);
      await (await next(other)).commit(completed());
      await until(() => old.waiting.length + other.waiting.length === 1);
    });

    it('are cancelled and ended where they wait', async () => {
      const old = await consume([versioned(1)]);
      const [first, second] = [await startRun(old), await startRun(old)];
      await first.commit(released(2));
      await second.commit(released(2));
      const error = { name: 'CancelledError', message: 'cancelled' };
      const outcome = { status: 'failed', cancelled: true, durationMs: 0, error, followUps: [] } as const;
      expect(await old.transport.runs.cancel(first.envelope.id, () => outcome)).toBe(true);
      expect(await old.transport.runs.end('run', second.envelope.id, outcome, new Error('ended'))).toBe('ok');
      const ended = await counts(old.transport, 'run');
      expect(ended).toMatchObject({ failed: 2, cancelled: 2, pending: 0 });
      expect(ended).not.toHaveProperty('awaitingVersion');
      const other = await consume([versioned(2)]);
      await advance(100);
      expect([old.waiting, other.waiting]).toEqual([[], []]);
    });
  });
}
