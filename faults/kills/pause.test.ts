import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { failsForGood } from '../workers/scenarios.js';
import { isLong, setScene, until } from '../workers/scene.js';

const rounds = isLong ? 20 : 3;
const eventsPerRound = 200;
// Other processes learn of a pause within milliseconds. On Redis the one that puts it into effect may be killed then: the
// next heartbeat of another one does it.
const effectMs = 6_000;
const pausedMs = 2_000;

const clockMs = (): number => Number(process.hrtime.bigint()) / 1e6;

it(`nothing starts in ${rounds} pauses while workers are killed at random, and every event has one outcome`, async () => {
  const { hub, workers, ledger } = await setScene(['work', 'settled']);
  const fleet = await startFleet(3, workers('work'));
  onTestFinished(() => fleet.stop());
  const done = new AbortController();
  const killing = fleet.killEvery(300, done.signal);

  const pauses: { readonly from: number; readonly to: number }[] = [];
  const total = rounds * eventsPerRound;
  for (let round = 0; round < rounds; round += 1) {
    const emit = (from: number, to: number): Promise<unknown> =>
      hub.emitMany(
        'work',
        Array.from({ length: to - from }, (_, index) => ({ n: from + index })),
      );
    const first = round * eventsPerRound;
    await emit(first, first + eventsPerRound / 2);
    const target = round % 2 === 0 ? { type: 'work' } : { service: 'shop' };
    await hub.pause(target, { reason: 'a test', by: 'test' });
    await delay(effectMs);
    const from = clockMs();
    await emit(first + eventsPerRound / 2, first + eventsPerRound);
    await delay(pausedMs);
    // Without kills it shows nothing.
    await until('a worker is killed in each round', () => fleet.kills > round);
    pauses.push({ from, to: clockMs() });
    expect((await hub.metrics('work')).pending).toBeGreaterThanOrEqual(eventsPerRound / 2);
    expect(await hub.resume(target, { by: 'test' })).toBe(true);
  }
  await until('all have ended', async () => (await hub.metrics('work')).pending === 0);
  done.abort();
  await killing;
  await until('all have settled', async () => (await hub.metrics('settled')).pending === 0);

  const entries = ledger();
  const started = entries.filter(
    ({ what, at }) => what === 'start' && pauses.some(({ from, to }) => at > from && at < to),
  );
  expect(started, 'handlers that started in a pause').toEqual([]);
  const all = Array.from({ length: total }, (_, n) => String(n));
  const settled = entries.filter(({ what }) => what.startsWith('settled'));
  expect(new Set(settled.map(({ key }) => key)), 'events with an outcome').toEqual(new Set(all));
  const failed = all.filter((n) => failsForGood(Number(n))).length;
  const counts = { received: total, completed: total - failed, failed, pending: 0, active: 0 };
  expect(await hub.metrics('work')).toMatchObject(counts);
  console.log(`${total} events, ${rounds} pauses, ${fleet.kills} kills`);
});
