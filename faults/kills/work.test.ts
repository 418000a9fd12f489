import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { failsForGood, tickNames } from '../workers/scenarios.js';
import { isLong, setPostgresScene, setScene, until } from '../workers/scene.js';

const events = isLong ? 3_000 : 60;
const ticks = isLong ? 300 : 2;

it(`${events} events have one outcome each, by processes that work for a while and are killed at random`, async () => {
  const { hub, workers, ledger } = await setPostgresScene(['work', 'settled']);
  const payloads = Array.from({ length: events }, (_, n) => ({ n }));
  const fleet = await startFleet(2, { ...workers('work'), workForMs: 1_500 });
  onTestFinished(() => fleet.stop());
  const killed = new AbortController();
  const killing = fleet.killEvery(500, killed.signal);
  await hub.emitMany('work', payloads);
  await until('all have ended', async () => (await hub.metrics('settled')).completed === events);
  killed.abort();
  await killing;
  const settled = ledger().filter(({ what }) => what.startsWith('settled'));
  expect(new Set(settled.map(({ key }) => Number(key)))).toEqual(new Set(payloads.map(({ n }) => n)));
  const failed = payloads.filter(({ n }) => failsForGood(n)).length;
  expect(await hub.metrics('work')).toMatchObject({ received: events, completed: events - failed, failed, pending: 0 });
});

it('each due time has one event while processes that work for a while come, go and are killed', async () => {
  const { workers, ledger } = await setScene(tickNames);
  const fleet = await startFleet(2, { ...workers('ticks'), workForMs: 1_500 });
  onTestFinished(() => fleet.stop());
  const killed = new AbortController();
  const killing = fleet.killEvery(700, killed.signal);
  const readTicks = (): Map<string, Set<string>> => {
    const ids = new Map<string, Set<string>>();
    for (const { what, key } of ledger()) ids.set(what, (ids.get(what) ?? new Set()).add(key));
    return ids;
  };
  await until('each schedule has emitted', () =>
    tickNames.every((name) => [...readTicks().keys()].filter((what) => what.startsWith(`${name} `)).length >= ticks),
  );
  killed.abort();
  await killing;
  for (const [what, ids] of readTicks()) expect(ids.size, `events of ${what}`).toBe(1);
});
