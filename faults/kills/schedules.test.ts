import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { storedTick, tickNames } from '../workers/scenarios.js';
import { isLong, setScene, until } from '../workers/scene.js';

const durationMs = isLong ? 600_000 : 10_000;

it('each due time has one event while three processes with schedules are killed at random', async () => {
  const { hub, workers, ledger } = await setScene([...tickNames, storedTick]);
  const keys = ['ada', 'bo', 'cy'];
  const startAt = Math.ceil(Date.now() / 1_000) * 1_000 + 5_000;
  const times = { everyMs: 1_000, startAt, endAt: startAt + durationMs };
  for (const key of keys) {
    await hub.schedules.set({ name: 'stored', key, ...times, catchUp: 'all', emit: storedTick, payload: key });
  }
  const fleet = await startFleet(3, workers('ticks'));
  onTestFinished(() => fleet.stop());
  const readTicks = (): Map<string, Map<number, Set<string>>> => {
    const ticks = new Map(tickNames.map((name) => [name, new Map<number, Set<string>>()]));
    for (const { what, key: eventId } of ledger()) {
      const [name = '', dueAt] = what.split(' ');
      if (name === storedTick) continue;
      const byDueTime = ticks.get(name) ?? new Map<number, Set<string>>();
      byDueTime.set(Number(dueAt), (byDueTime.get(Number(dueAt)) ?? new Set()).add(eventId));
    }
    return ticks;
  };
  await until('each schedule has emitted', () => [...readTicks().values()].every(({ size }) => size > 0));

  const killed = new AbortController();
  const killing = fleet.killEvery(800, killed.signal);
  const starts = new Map([...readTicks()].map(([name, byDueTime]) => [name, Math.min(...byDueTime.keys())]));
  const endAt = Math.min(...starts.values()) + durationMs;
  const hasPassed = (name: string): boolean => Math.max(...(readTicks().get(name)?.keys() ?? [])) > endAt;
  // Without a kill it shows nothing.
  const isOver = (): boolean => tickNames.every(hasPassed) && fleet.kills > 0;
  await until('all schedules have passed the end', isOver, durationMs + 200_000);
  killed.abort();
  await killing;
  await until('all events up to the end have run', () =>
    [...readTicks()].every(([name, byDueTime]) => dueTimes(starts.get(name), endAt).every((at) => byDueTime.has(at))),
  );

  for (const [name, byDueTime] of readTicks()) {
    for (const [dueAt, ids] of byDueTime) expect(ids.size, `events of ${name} at ${dueAt}`).toBe(1);
    const { received, pending } = await hub.metrics(name);
    expect(received - pending).toBeLessThanOrEqual(readTicks().get(name)?.size ?? 0);
  }
  for (const key of keys) {
    const expected = durationMs / 1_000 + 1;
    const ran = (): ReadonlySet<string> =>
      new Set(ledger().flatMap((entry) => (entry.what === `${storedTick} ${key}` ? entry.key : [])));
    await until('all due times of a stored schedule have run', () => ran().size >= expected);
    expect(ran().size).toBe(expected);
    expect(await hub.schedules.get('stored', key)).toMatchObject({ lastDueAt: startAt + durationMs });
  }
  console.log(`${tickNames.length} schedules for ${durationMs / 1_000} s, ${fleet.kills} kills`);
}, 700_000);

function dueTimes(from = 0, to = 0): number[] {
  return Array.from({ length: Math.floor((to - from) / 1_000) + 1 }, (_, index) => from + index * 1_000);
}
