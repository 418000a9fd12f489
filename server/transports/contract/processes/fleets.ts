import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed } from '../outcome.js';

const free: Subscription = { type: 'a' };
const limited: Subscription = { type: 'a', concurrency: 2 };
const rated: Subscription = { type: 'a', rate: { max: 2, perMs: 60_000 } };

/** Tests fleets whose processes subscribe with different settings: deploys, canaries, rollbacks. */
export function describeFleets({ advance, consume, counts, next, until }: ContractStage): void {
  /** Commits everything that the consumption receives until the type has no pending event. */
  const handleAll = async (consumption: Consumption, type: string): Promise<void> => {
    await until(async () => {
      while (consumption.waiting.length > 0) await consumption.shift().commit(completed());
      return (await counts(consumption.transport, type)).pending === 0;
    });
  };

  describe('a fleet with different settings', () => {
    it.each<[string, Subscription, Subscription]>([
      ['adds a concurrency', free, limited],
      ['drops a concurrency', limited, free],
      ['adds a rate', free, rated],
      ['drops a rate', { ...rated, rate: { max: 100, perMs: 60_000 } }, free],
      ['changes a concurrency to a rate', limited, rated],
    ])('serves the survivors after a canary that %s has left', async (_, stable, canary) => {
      const before = await consume([stable]);
      await before.transport.publish([envelope('a')]);
      await (await next(before)).commit(completed());
      const after = await consume([canary]);
      await after.transport.publish(Array.from({ length: 20 }, () => envelope('a')));
      // A limit may leave nothing for the canary.
      await until(() => before.waiting.length + after.waiting.length > 0);
      await after.transport.close({ drainMs: 0 });
      await handleAll(before, 'a');
      expect(await counts(before.transport, 'a')).toMatchObject({ received: 21, completed: 21, pending: 0 });
    });

    it('applies the settings of the process that started last, and those of the others after it has left', async () => {
      const before = await consume([{ type: 'a', concurrency: 3 }]);
      const canary = await consume([{ type: 'a', concurrency: 1 }]);
      await before.transport.publish(Array.from({ length: 8 }, () => envelope('a')));
      const running = (): number => before.waiting.length + canary.waiting.length;
      await until(() => running() === 1);
      await advance(50);
      expect(running()).toBe(1);
      await canary.transport.close({ drainMs: 0 });
      await until(() => before.waiting.length === 3);
      await advance(50);
      expect(before.waiting).toHaveLength(3);
    });

    it('starts a type whose own concurrency is back although all shared slots are taken', async () => {
      const before = await consume([{ type: 'a', concurrency: 1 }, 'b'], { concurrency: 1 });
      const canary = await consume(['a', 'b'], { concurrency: 1 });
      await before.transport.publish([envelope('b'), envelope('b')]);
      await until(() => before.waiting.length + canary.waiting.length === 2);
      await before.transport.publish([envelope('a')]);
      await advance(50);
      expect(before.waiting.length + canary.waiting.length).toBe(2);
      await canary.transport.close({ drainMs: 0 });
      await until(() => before.waiting.some(({ envelope: { type } }) => type === 'a'));
    });

    it('retains the settings of the newest process after an older one has left', async () => {
      const before = await consume([{ type: 'a', concurrency: 3 }]);
      const after = await consume([{ type: 'a', concurrency: 1 }]);
      await before.transport.close({ drainMs: 0 });
      await after.transport.publish(Array.from({ length: 8 }, () => envelope('a')));
      await until(() => after.waiting.length === 1);
      await advance(50);
      expect(after.waiting).toHaveLength(1);
    });

    it.each<[string, Subscription, Subscription]>([
      ['concurrency', free, { type: 'a', concurrency: 1 }],
      ['rate', free, { type: 'a', rate: { max: 1, perMs: 60_000 } }],
      ['lower concurrency', { type: 'a', concurrency: 20 }, { type: 'a', concurrency: 1 }],
    ])('applies a new %s to the backlog', async (_, former, current) => {
      const before = await consume([former]);
      await before.transport.close({ drainMs: 0 });
      await before.transport.publish(Array.from({ length: 30 }, () => envelope('a')));
      const after = await consume([current]);
      await until(() => after.waiting.length > 0);
      await advance(50);
      expect(after.waiting).toHaveLength(1);
    });

    it('starts as many as the rate allows although a process does not handle the type', async () => {
      const other = await consume(['b']);
      const shop = await consume([{ type: 'a', rate: { max: 5, perMs: 60_000 } }]);
      const another = await consume(['b']);
      await other.transport.publish(Array.from({ length: 9 }, () => envelope('a')));
      await until(() => shop.waiting.length === 5);
      expect(other.waiting.length + another.waiting.length).toBe(0);
    });
  });

  describe('triggers of a fleet', () => {
    const run = (...triggers: readonly string[]): Subscription => ({ type: 'run', retainsRuns: true, triggers });

    it.each([
      [[], 0],
      [['b'], 1],
      [['b', 'c'], 2],
      [['a', 'b', 'c'], 3],
    ])('are those of a canary with the triggers %j while it lives', async (changed, isTriggered) => {
      const before = await consume([run('a')]);
      const canary = await consume([run(...changed)]);
      await before.transport.publish([envelope('a'), envelope('b'), envelope('c')]);
      expect(await counts(before.transport, 'run')).toMatchObject({ received: isTriggered });
      await canary.transport.close({ drainMs: 0 });
      await before.transport.publish([envelope('a'), envelope('b'), envelope('c')]);
      await handleAll(before, 'run');
      expect(await counts(before.transport, 'run')).toMatchObject({ received: isTriggered + 1, pending: 0 });
    });

    it('of an older process end when a newer one without a trigger starts', async () => {
      const before = await consume([run('a')]);
      await consume([run()]);
      await before.transport.publish([envelope('a')]);
      expect(await counts(before.transport, 'run')).toMatchObject({ received: 0 });
      expect(await counts(before.transport, 'a')).toMatchObject({ received: 1, completed: 1 });
    });
  });
}
