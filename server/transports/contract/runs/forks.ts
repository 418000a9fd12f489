import { describe, expect, it } from 'vitest';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, suspended } from '../outcome.js';
import { createRunStage, runs } from './run-stage.js';

/** Tests runs that are accepted with the entries of another one. */
export function describeForks(stage: ContractStage): void {
  const { advance, consume, counts, next, until } = stage;
  const { startRun } = createRunStage(stage);
  const large = `{"durationMs":1,"output":${JSON.stringify('x\u2028"ü😀'.repeat(200))}}`;
  const recorded = [
    ['run:one', large],
    ['event:two', '{"by":"event","id":"e-1","payload":{"n":[1]},"since":1,"at":2}'],
    ['patches:0', '["a",1]'],
  ] as const;

  describe('a run that is accepted with entries', () => {
    it('has them in their order, before and after it was suspended, and none of them twice', async () => {
      const shop = await consume([runs]);
      const fork = envelope('run', { recorded, service: 'shop', causeId: 'origin', key: 'k' });
      await shop.transport.publish([fork]);
      const first = await next(shop);
      expect([...first.checkpoints]).toEqual(recorded.map((entry) => [...entry]));
      expect(first.envelope).toMatchObject({ id: fork.id, causeId: 'origin', key: 'k', body: '{}' });
      expect(await first.checkpoint('run:three', '{"durationMs":2,"output":3}')).toBe('ok');
      await first.wait([{ key: 'sleep:four', delayMs: 1_000 }]);
      expect(await first.commit(suspended(4))).toBe('ok');
      const suspendedRun = await shop.transport.runs.get('run', fork.id);
      expect([...(suspendedRun?.checkpoints ?? [])].slice(0, 4)).toEqual([
        ...recorded.map((entry) => [...entry]),
        ['run:three', '{"durationMs":2,"output":3}'],
      ]);
      await advance(1_000);
      const second = await next(shop);
      expect([...second.checkpoints.keys()]).toEqual([...recorded.map(([key]) => key), 'run:three', 'sleep:four']);
      expect(second.checkpoints.get('run:one')).toBe(large);
      expect(await second.commit(completed())).toBe('ok');
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 1, completed: 1, pending: 0 });
    });

    it('resolves no wait for its type, starts no triggered run, and reaches its service alone', async () => {
      const shop = await consume([runs, { type: 'flow', retainsRuns: true, triggers: ['run'] }]);
      const mail = await consume(['run'], { service: 'mail' });
      const waiting = await startRun(shop, { type: 'flow' });
      await waiting.wait([{ key: 'event:run', event: { type: 'run', key: undefined } }]);
      const fork = envelope('run', { recorded, service: 'shop' });
      expect(await shop.transport.publish([fork])).toEqual([{ id: fork.id, deduplicated: false }]);
      const delivery = await next(shop);
      expect(delivery.envelope.id).toBe(fork.id);
      await delivery.commit(completed());
      await until(async () => (await counts(shop.transport, 'run')).completed === 1);
      expect(mail.waiting).toEqual([]);
      expect(waiting.checkpoints.size).toBe(0);
      expect(await counts(shop.transport, 'flow')).toMatchObject({ received: 1 });
    });

    it('is not placed in a debounce window', async () => {
      const shop = await consume([{ ...runs, debounce: { ms: 60_000 } }]);
      const fork = envelope('run', { recorded, service: 'shop' });
      expect(await shop.transport.publish([fork])).toEqual([{ id: fork.id, deduplicated: false }]);
      expect((await next(shop)).checkpoints.size).toBe(recorded.length);
    });

    it('loses its entries when its request is erased', async () => {
      const shop = await consume([runs]);
      const fork = envelope('run', { recorded, service: 'shop', requestId: 'r-1' });
      await shop.transport.publish([fork]);
      await (await next(shop)).commit(completed());
      expect(await shop.transport.lookup.erase('r-1')).toMatchObject({ runs: 1 });
      expect((await shop.transport.runs.get('run', fork.id))?.checkpoints.size).toBe(0);
    });
  });
}
