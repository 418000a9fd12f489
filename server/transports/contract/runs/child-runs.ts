import { describe, expect, it } from 'vitest';
import type { Delivery, Envelope, Subscription } from '../../delivery.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, suspended } from '../outcome.js';
import { createRunStage, resolution, runs } from './run-stage.js';

const children: Subscription = { type: 'child', retainsRuns: true };
const cancelled = new Error('cancelled');

function childOf(parent: Delivery, fields: Partial<Envelope> = {}): Envelope {
  const { type, id } = parent.envelope;
  return envelope('child', { parent: { type, id, wait: 'invoke' }, causeId: id, ...fields });
}

/** Registers the tests of runs that start other runs and wait for them. */
export function describeChildRuns(stage: ContractStage): void {
  const { consume, next, until, counts } = stage;
  const { startRun, state } = createRunStage(stage);

  describe('child runs', () => {
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
      expect(await shop.transport.runs.end('run', parent.envelope.id, outcome, cancelled)).toBe('ok');
      expect((await next(shop)).envelope).toMatchObject({ type: 'cancelled', body: '"child"' });
      for (const id of [run.id, grandchild.id]) {
        const record = await shop.transport.runs.get('child', id);
        expect(record).toMatchObject({ status: 'failed', error: { message: 'cancelled' } });
        expect(record?.waits.map(({ runId }) => runId)).toEqual(id === run.id ? [grandchild.id] : []);
      }
      const none = { pending: 0, active: 0, suspended: 0 };
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 1, failed: 1, ...none });
      expect(await counts(shop.transport, 'child')).toMatchObject({ received: 2, failed: 2, ...none });
      expect(await shop.transport.deadLetters.list('child', 9)).toEqual([]);
    });

    it('lose their lease if they run when their parent is ended', async () => {
      const shop = await consume([runs, children]);
      const parent = await startRun(shop);
      await parent.wait([{ key: 'invoke', run: childOf(parent) }]);
      const child = await next(shop);
      const reasons: Error[] = [];
      child.onRevoked = (reason) => void reasons.push(reason);
      await shop.transport.runs.end('run', parent.envelope.id, failed('cancelled'), cancelled);
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
}
