import { copyFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../../scripts/property-tests.js';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed, failed, retry } from '../../contract/outcome.js';
import type { Delivery, Subscription } from '../../delivery.js';
import { loneEvents } from '../../lone-events.js';
import { resolveSqliteOptions, type SqliteTransportOptions } from '../sqlite-options.js';
import { newFile, openBeside, type Process, startProcess } from '../stage.fixture.js';

/** Starts processes on one file, one after the other, on one clock. */
function machine(
  options: Pick<SqliteTransportOptions, 'maxCrashes' | 'maxPendingInMemory'>,
  ...subscriptions: readonly Subscription[]
) {
  const clock = createFakeClock();
  let file = newFile();
  let current: Process | undefined;
  const next = async (): Promise<Process> => {
    current = await startProcess({ file, clock, ...options }, subscriptions);
    await clock.settle();
    return current;
  };
  return {
    clock,
    file: () => file,
    next,
    /** Starts the next process on what a killed process leaves. */
    async crash(): Promise<Process> {
      const copy = newFile();
      for (const suffix of ['', '-wal']) copyFileSync(file + suffix, copy + suffix);
      await current?.transport.close({ drainMs: 0 });
      file = copy;
      return next();
    },
    async restart(): Promise<Process> {
      await current?.transport.close({ drainMs: 0 });
      return next();
    },
  };
}

function ids({ deliveries }: Process): readonly string[] {
  return deliveries.map(({ envelope: { id } }) => id);
}

const crashLoop = (crashes: number) => ({
  code: 'ERR_CRASH_LOOP',
  message: expect.stringContaining(`${crashes} times in a row`),
});

it('an event that crashes three processes fails, and those that ran beside it complete', async () => {
  const { next, crash, clock } = machine({ maxCrashes: 3 }, { type: 'a' });
  const first = await next();
  const sent = [envelope('a'), envelope('a'), envelope('a')];
  const [before, poison, after] = sent.map(({ id }) => id);
  await first.transport.publish(sent);
  await clock.settle();
  expect(ids(first)).toEqual([before, poison, after]);
  expect(ids(await crash())).toEqual([before, poison, after]);
  const third = await crash();
  // On their last chance, alone.
  expect(ids(third)).toEqual([before]);
  const added = envelope('a');
  await third.transport.publish([added]);
  await clock.advance(1_000);
  expect(ids(third)).toEqual([before]);
  await third.deliveries[0]?.commit(completed());
  await clock.settle();
  // The others have their turn.
  expect(ids(third)).toEqual([before, added.id]);
  await clock.advance(1_500);
  expect(third.deliveries).toHaveLength(2);
  await third.deliveries[1]?.commit(completed());
  await clock.advance(1_500);
  expect(third.deliveries).toHaveLength(3);
  if (third.deliveries[2]?.envelope.id === after) {
    await third.deliveries[2]?.commit(completed());
    await clock.advance(1_000);
  }
  expect(ids(third).at(-1)).toBe(poison);
  const fourth = await crash();
  const refused = fourth.deliveries.find((delivery) => delivery.refusal !== undefined);
  expect(refused).toMatchObject({ envelope: { id: poison }, refusal: crashLoop(3) });
  await refused?.commit(failed('crash loop'));
  for (let count = 0; count < 3; count += 1) {
    for (const delivery of fourth.deliveries) if (delivery !== refused) await delivery.commit(completed());
    await clock.advance(1_000);
  }
  expect(await fourth.transport.counts.metrics('a')).toMatchObject({ completed: 3, failed: 1, pending: 0 });
});

it('counts no clean end, and forgets the counts of events that advance', async () => {
  const { next, restart, crash, clock, file } = machine(
    { maxCrashes: 3 },
    { type: 'run', retainsRuns: true },
    { type: 'a' },
  );
  const first = await next();
  await first.transport.publish([envelope('run'), envelope('a')]);
  let process = first;
  const of = (type: string): Delivery | undefined =>
    process.deliveries.find(({ envelope: each }) => each.type === type);
  for (let count = 0; count < 5; count += 1) process = await restart();
  for (let count = 0; count < 10; count += 1) {
    process = await crash();
    expect(process.deliveries.map(({ refusal }) => refusal)).toEqual([undefined, undefined]);
    await of('run')?.checkpoint(`step ${count}`, '1');
    await of('a')?.commit(retry(0));
    await clock.settle();
    process = await restart();
  }
  await of('run')?.commit(completed());
  await of('a')?.commit(completed());
  await clock.settle();
  expect((await openBeside(file())).prepare('SELECT * FROM crash_suspects').all()).toEqual([]);
});

it('stores no starts of events that are accepted after a crash', async () => {
  const { next, crash, clock, file } = machine({ maxCrashes: 3 }, { type: 'a' });
  const first = await next();
  await first.transport.publish([envelope('a')]);
  const second = await crash();
  await second.deliveries[0]?.commit(completed());
  await second.transport.publish([envelope('a'), envelope('a')]);
  await clock.settle();
  expect(second.deliveries).toHaveLength(3);
  expect((await openBeside(file())).prepare('SELECT * FROM crash_suspects').all()).toEqual([]);
});

it('stores the start of a suspect before its handler runs', async () => {
  const { next, crash, clock, file } = machine({ maxCrashes: 3 }, { type: 'a', concurrency: 1 });
  const first = await next();
  await first.transport.publish([envelope('a'), envelope('a')]);
  await clock.settle();
  const second = await crash();
  expect(second.deliveries).toHaveLength(1);
  const stored = (await openBeside(file())).prepare('SELECT * FROM crash_suspects');
  expect(stored.all()).toEqual([{ position: 1, crashes: 1, is_started: 1 }]);
  await second.transport.close({ drainMs: 0 });
  expect(stored.all()).toEqual([{ position: 1, crashes: 1, is_started: 0 }]);
});

it.each([
  [2, { maxCrashes: 2 }],
  [3, { maxCrashes: 3 }],
  [7, { maxCrashes: 7 }],
  [5, {}],
])('an event fails after %i crashes with %j', async (maxCrashes, options) => {
  const { next, crash } = machine(options, { type: 'a' });
  const first = await next();
  await first.transport.publish([envelope('a')]);
  for (let count = 1; count < maxCrashes; count += 1) expect((await crash()).deliveries[0]?.refusal).toBeUndefined();
  expect((await crash()).deliveries[0]?.refusal).toMatchObject(crashLoop(maxCrashes));
});

it('with maxCrashes 2, stores the start of each event, so that a crash counts only for those that ran', async () => {
  const { next, crash, clock, file } = machine({ maxCrashes: 2 }, { type: 'a', concurrency: 1 });
  const first = await next();
  const [poison, waiting] = [envelope('a'), envelope('a')];
  await first.transport.publish([poison, waiting]);
  await clock.settle();
  const stored = (await openBeside(file())).prepare('SELECT * FROM crash_suspects');
  expect(stored.all()).toEqual([{ position: 1, crashes: 0, is_started: 1 }]);
  await crash();
  const third = await crash();
  expect(third.deliveries[0]).toMatchObject({ envelope: { id: poison.id }, refusal: crashLoop(2) });
  await third.deliveries[0]?.commit(failed('crash loop'));
  await clock.settle();
  expect(third.deliveries[1]?.envelope.id).toBe(waiting.id);
  const fourth = await crash();
  expect(fourth.deliveries[0]).toMatchObject({ envelope: { id: waiting.id }, refusal: undefined });
  await fourth.deliveries[0]?.commit(completed());
  await clock.settle();
  expect((await openBeside(file())).prepare('SELECT * FROM crash_suspects').all()).toEqual([]);
});

it.each([
  { before: 2, maxCrashes: 3, crashes: 3 },
  // The first crash does not tell which events ran: with all that were pending, each of them would have to run alone.
  { before: 3, maxCrashes: 2, crashes: 3 },
])(
  'with maxCrashes $before in the first process and then $maxCrashes, an event fails after $crashes crashes',
  async ({ before, maxCrashes, crashes }) => {
    const options = { maxCrashes: before };
    const { next, crash } = machine(options, { type: 'a' });
    const first = await next();
    await first.transport.publish([envelope('a')]);
    options.maxCrashes = maxCrashes;
    for (let count = 1; count < crashes; count += 1) expect((await crash()).deliveries[0]?.refusal).toBeUndefined();
    expect((await crash()).deliveries[0]?.refusal).toMatchObject(crashLoop(maxCrashes));
  },
);

it('a long event keeps others waiting for 30 s, and is to blame only if it was alone when its process died', async () => {
  const { next, crash, clock } = machine({ maxCrashes: 3 }, { type: 'a' });
  const first = await next();
  const [poison, other] = [envelope('a'), envelope('a')];
  await first.transport.publish([poison]);
  await clock.settle();
  let process = await crash();
  process = await crash();
  expect(ids(process)).toEqual([poison.id]);
  await process.transport.publish([other]);
  await clock.advance(29_999);
  expect(ids(process)).toEqual([poison.id]);
  await clock.advance(1);
  expect(ids(process)).toEqual([poison.id, other.id]);
  process = await crash();
  // The crash of both does not tell which one is the cause.
  const [found] = process.deliveries;
  expect(found).toMatchObject({ envelope: { id: other.id }, refusal: undefined });
  await found?.commit(completed());
  await clock.advance(59_999);
  await process.transport.publish([envelope('a')]);
  await clock.settle();
  expect(ids(process)).toEqual([other.id, poison.id]);
  process = await crash();
  expect(process.deliveries[0]).toMatchObject({ envelope: { id: poison.id }, refusal: crashLoop(4) });
});

it('an event on its last chance waits for those that run, for 30 s', async () => {
  const { next, crash, clock } = machine({ maxCrashes: 3 }, { type: 'a' });
  const first = await next();
  const [busy, suspect, later] = [envelope('a'), envelope('a'), envelope('a')];
  await first.transport.publish([suspect]);
  await clock.settle();
  await crash();
  const third = await crash();
  await third.deliveries[0]?.commit({ status: 'released', durationMs: 0, delayMs: 1_000 });
  await third.transport.publish([busy]);
  await clock.advance(1_000);
  await third.transport.publish([later]);
  await clock.advance(29_000);
  expect(ids(third)).toEqual([suspect.id, busy.id]);
  await clock.advance(1_000);
  expect(ids(third).toSorted()).toEqual([suspect.id, busy.id, suspect.id, later.id].toSorted());
  const fourth = await crash();
  expect(fourth.deliveries.map(({ refusal }) => refusal)).toEqual(fourth.deliveries.map(() => undefined));
});

it('an event that is to run alone keeps no other hub waiting while the file cannot be written', async () => {
  const { next, crash, clock, file } = machine({ maxCrashes: 3 }, { type: 'a' });
  const first = await next();
  await first.transport.publish([envelope('a')]);
  await clock.settle();
  await crash();
  const third = await crash();
  await third.deliveries[0]?.commit({ status: 'released', durationMs: 0, delayMs: 1_000 });
  await clock.settle();
  const beside = await openBeside(file());
  beside.exec('BEGIN IMMEDIATE');
  await clock.advance(1_000);
  expect(loneEvents.isReserved).toBe(true);
  await clock.advance(30_000);
  expect(loneEvents.isReserved).toBe(false);
  expect(third.deliveries).toHaveLength(1);
  beside.exec('COMMIT');
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return third.deliveries.length;
    })
    .toBe(2);
  expect(beside.prepare('SELECT crashes, is_started FROM crash_suspects').all()).toEqual([
    { crashes: 2, is_started: 1 },
  ]);
});

it('only poison events fail, each after maxCrashes crashes, whatever their number, keys and order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          key: fc.constantFrom('a', 'b', undefined),
          isPoison: fc.boolean(),
          // Process that emits the event.
          process: fc.nat({ max: 3 }),
          turns: fc.nat({ max: 2 }),
        }),
        { minLength: 1, maxLength: 7 },
      ),
      fc.integer({ min: 2, max: 4 }),
      fc.constantFrom(1, 1_000),
      async (events, maxCrashes, maxPendingInMemory) => {
        const subscription = { type: 'keyed', perKey: { concurrency: 1 } };
        const { next, crash, clock } = machine({ maxCrashes, maxPendingInMemory }, { type: 'a' }, subscription);
        const left = events.map((event) => ({
          ...event,
          envelope: event.key === undefined ? envelope('a') : envelope('keyed', { key: event.key }),
        }));
        const byId = new Map(left.map(({ envelope: { id }, ...event }) => [id, { ...event, id }]));
        const emit = async ({ transport }: Process, number: number): Promise<void> => {
          const due = left.filter(({ process: each }) => each <= number);
          if (due.length === 0) return;
          left.splice(0, left.length, ...left.filter((each) => !due.includes(each)));
          await transport.publish(due.map(({ envelope: each }) => each));
          await clock.settle();
        };
        let process = await next();
        let processes = 0;
        await emit(process, 0);
        const failures: string[] = [];
        const completions: string[] = [];
        const turns = new Map<string, number>();
        const losses = new Map<string, number>();
        for (let rounds = 0; failures.length + completions.length < events.length; rounds += 1) {
          expect(rounds).toBeLessThan(1_000);
          let isCrash = false;
          const started = process.deliveries.splice(0);
          for (const delivery of started) {
            const { id } = delivery.envelope;
            const { isPoison, turns: needed } = byId.get(id) ?? { isPoison: false, turns: 0 };
            const turn = turns.get(id) ?? 0;
            if (delivery.refusal !== undefined) {
              await delivery.commit(failed('crash loop'));
              failures.push(id);
            } else if (turn < needed) {
              turns.set(id, turn + 1);
              process.deliveries.push(delivery);
            } else if (isPoison) {
              isCrash = true;
              turns.delete(id);
              break;
            } else {
              await delivery.commit(completed());
              completions.push(id);
            }
          }
          for (const { envelope: event, refusal } of isCrash ? started : []) {
            const hasEnded = completions.includes(event.id) || failures.includes(event.id);
            if (!hasEnded && refusal === undefined) losses.set(event.id, (losses.get(event.id) ?? 0) + 1);
          }
          if (isCrash || (processes < 5 && process.deliveries.length === 0 && left.length > 0)) {
            process = isCrash ? await crash() : process;
            processes += 1;
            if (isCrash) turns.clear();
            await emit(process, processes);
          } else {
            await clock.advance(200);
          }
        }
        const poisons = [...byId.values()].filter(({ isPoison }) => isPoison).map(({ id }) => id);
        expect(failures.toSorted()).toEqual(poisons.toSorted());
        // Without notes, the first crash counts also for those that waited.
        const fewest = maxCrashes === 2 ? 2 : maxCrashes - 1;
        for (const id of poisons) {
          expect(losses.get(id)).toBeGreaterThanOrEqual(fewest);
          expect(losses.get(id)).toBeLessThanOrEqual(maxCrashes);
        }
      },
    ),
    { numRuns: runs(12) },
  );
});

it.each([0, 1, 2.5, Number.NaN])('rejects maxCrashes %s', (maxCrashes) => {
  expect(() => resolveSqliteOptions({ file: 'hub.db', maxCrashes })).toThrow('maxCrashes');
});

it('an attempt that a kill interrupts leaves a trace if it ran for a second', async () => {
  const { next, crash, clock } = machine({ maxCrashes: 50 }, { type: 'a' });
  const first = await next();
  const [long, short] = [envelope('a'), envelope('a')];
  const startedAt = clock.now();
  await first.transport.publish([long]);
  await clock.advance(1_000);
  await first.transport.publish([short]);
  await clock.advance(500);
  const second = await crash();
  const attemptsOf = async ({ transport }: Process, { id }: { id: string }) =>
    (await transport.lookup.find(id, { bodies: false }))[0]?.attempts;
  const trace = { attempt: 1, startedAt, endedAt: startedAt + 1_500, isInterrupted: true };
  expect(await attemptsOf(second, long)).toEqual([trace, { attempt: 1, startedAt: startedAt + 1_500 }]);
  expect(await attemptsOf(second, short)).toEqual([{ attempt: 1, startedAt: startedAt + 1_500 }]);

  // Both have run for a second now. The trace is stored once, and a recorded attempt is none.
  await clock.advance(2_000);
  await second.deliveries.find((each) => each.envelope.id === short.id)?.commit(retry(60_000));
  const third = await crash();
  expect(await attemptsOf(third, long)).toEqual([
    trace,
    { ...trace, startedAt: startedAt + 1_500, endedAt: startedAt + 3_500 },
    { attempt: 1, startedAt: startedAt + 3_500 },
  ]);
  expect((await attemptsOf(third, short))?.map(({ isInterrupted }) => isInterrupted)).toEqual([undefined]);
});
