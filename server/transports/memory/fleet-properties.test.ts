import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import type { Subscription } from '../delivery.js';
import { type End, ModelledFleet } from './fleet.fixture.js';

const types = ['a', 'b', 'keyed', 'run'];

const limits = fc.oneof(
  fc.constant({}),
  fc.record({ concurrency: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ rate: fc.record({ max: fc.integer({ min: 1, max: 3 }), perMs: fc.constantFrom(50, 200) }) }),
);
const perKey = fc.constantFrom({}, { perKey: {} }, { perKey: { concurrency: 1 } }, { perKey: { concurrency: 2 } });
const triggers = fc.subarray(['a', 'b']).map((types) => ({ triggers: types }));

const subscriptions: fc.Arbitrary<Subscription[]> = fc
  .tuple(limits, limits, perKey, triggers, fc.subarray(types, { minLength: 1 }))
  .map(([a, b, keyed, run, handled]) => {
    const all: Subscription[] = [
      { type: 'a', ...a },
      { type: 'b', ...b },
      { type: 'keyed', ...keyed },
      { type: 'run', retainsRuns: true, ...run },
    ];
    return all.filter(({ type }) => handled.includes(type));
  });

type Command = (fleet: ModelledFleet) => Promise<void>;

const ends: readonly End[] = ['completed', 'completed', 'completed', 'failed', 'retry', 'overdue', 'overdue retry'];
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.tuple(subscriptions, fc.integer({ min: 1, max: 4 })).map(
    ([opened, concurrency]): Command =>
      (fleet) =>
        fleet.open(opened, concurrency),
  ),
  fc.nat(5).map(
    (index): Command =>
      (fleet) =>
        fleet.close(index % Math.max(1, fleet.size)),
  ),
  fc.tuple(fc.constantFrom('a', 'b', 'keyed'), fc.integer({ min: 1, max: 6 }), fc.constantFrom(0, 0, 0, 30)).map(
    ([type, count, delayMs]): Command =>
      (fleet) =>
        fleet.publish(type, count, delayMs),
  ),
  fc.constantFrom(...ends).map(
    (end): Command =>
      (fleet) =>
        fleet.end(end),
  ),
  fc.constantFrom(...ends).map(
    (end): Command =>
      (fleet) =>
        fleet.end(end),
  ),
  fc.constantFrom(5, 60, 250).map(
    (ms): Command =>
      (fleet) =>
        fleet.clock.advance(ms),
  ),
);

it('random fleets of one service obey the settings of those that are open, and strand nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 60 }), async (commands) => {
      const fleet = new ModelledFleet();
      for (const run of commands) {
        await run(fleet);
        await fleet.check(types);
      }
      while (fleet.size > 0) await fleet.close(0);
      await fleet.open(
        types.map((type) => ({ type, retainsRuns: true })),
        100,
      );
      for (let round = 0; round < 10; round += 1) {
        await fleet.clock.advance(100);
        while (fleet.hasRunning) await fleet.end('completed');
      }
      await fleet.check(types);
      for (const { pending } of await fleet.counts(types)) expect(pending).toBe(0);
    }),
    { numRuns: runs(150) },
  );
});
