import { copyFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../../scripts/property-tests.js';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import type { Subscription } from '../../delivery.js';
import { newFile, openBeside, type Process, startProcess } from '../stage.fixture.js';

const rate = { max: 3, perMs: 100 };
const subscriptions: [string, Subscription][] = [
  ['a type', { type: 'a', rate }],
  ['a key', { type: 'a', perKey: { rate } }],
];

/** Processes on one file, one after the other, on one clock. */
function machine(subscription: Subscription) {
  const clock = createFakeClock();
  let file = newFile();
  let current: Process | undefined;
  /** Times at which events were handed out, by their keys. */
  const starts = new Map<string, number[]>();
  const start = async (): Promise<void> => {
    current = await startProcess({ file, clock }, [subscription], ({ envelope: { key = '' } }) => {
      starts.set(key, [...(starts.get(key) ?? []), clock.now()]);
    });
  };
  return {
    clock,
    file: () => file,
    starts,
    start,
    publish: async (key: string) => current?.transport.publish([envelope('a', { key })]),
    /** Completes what was handed out. */
    async complete(): Promise<void> {
      await clock.settle();
      for (const delivery of current?.deliveries.splice(0) ?? []) await delivery.commit(completed());
    },
    async restart(): Promise<void> {
      await current?.transport.close({ drainMs: 0 });
      await start();
    },
    /** Starts the next process on what a killed process leaves. */
    async crash(): Promise<void> {
      const copy = newFile();
      for (const suffix of ['', '-wal']) copyFileSync(file + suffix, copy + suffix);
      await current?.transport.close({ drainMs: 0 });
      file = copy;
      await start();
    },
  };
}

it.each(subscriptions)(
  'the rate of %s counts starts of earlier processes, however they ended',
  async (_, subscription) => {
    const command = fc.oneof(
      fc.record({ do: fc.constantFrom('restart' as const, 'crash' as const) }),
      fc.record({ do: fc.constant('publish' as const), key: fc.constantFrom('one', 'two') }),
      fc.record({ do: fc.constant('publish' as const), key: fc.constantFrom('one', 'two') }),
      fc.record({ do: fc.constant('advance' as const), ms: fc.nat(60) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 30 }), async (commands) => {
        const { clock, starts, start, publish, complete, restart, crash } = machine(subscription);
        await start();
        for (const each of commands) {
          if (each.do === 'publish') await publish(each.key);
          else if (each.do === 'advance') await clock.advance(each.ms);
          else if (each.do === 'restart') await restart();
          else await crash();
          await complete();
        }
        const all = [...starts.values()];
        for (const times of subscription.rate === undefined ? all : [all.flat().sort((a, b) => a - b)]) {
          for (const [index, time] of times.entries()) {
            expect(time - (times[index - rate.max] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(rate.perMs);
          }
        }
      }),
      { numRuns: runs(10) },
    );
  },
);

it('the file forgets the starts of a key that no longer count', async () => {
  const { clock, file, start, publish, complete, restart } = machine({ type: 'a', perKey: { rate } });
  await start();
  await publish('one');
  await complete();
  const database = await openBeside(file());
  const read = (): readonly unknown[] => database.prepare('SELECT key FROM starts').all();
  expect(read()).toEqual([{ key: 'one' }]);
  for (const key of ['two', 'three']) {
    await clock.advance(2 * rate.perMs);
    await publish(key);
    await complete();
  }
  expect(read()).not.toContainEqual({ key: 'one' });
  await clock.advance(2 * rate.perMs);
  await restart();
  expect(read()).toEqual([]);
});
