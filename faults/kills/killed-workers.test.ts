import type { Hub } from 'hubline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Fleet, startFleet } from '../workers/fleet.js';
import { failsForGood, workflowSteps } from '../workers/scenarios.js';
import { isLong, type SetScene, setPostgresScene, setScene, until } from '../workers/scene.js';

const events = isLong ? 60_000 : 500;
// One kill each.
const portion = isLong ? 120 : 500;
const runs = isLong ? 500 : 50;
const timeout = isLong ? 1_800_000 : 300_000;
const maxCrashes = 3;
// The first of three crashes may precede the start of the handler. The other two follow the note of that start, and one of
// them may fall between the note and the start.
const fewestStartsOfACrashLoop = 1;

describe.each<[string, SetScene]>([
  ['Redis', (types) => setScene(types)],
  ['Postgres', setPostgresScene],
])('on %s', (name, set) => {
  it(`${events} events end exactly once while workers are killed at random`, { timeout }, async () => {
    const { hub, workers, ledger } = await set(['work', 'settled']);
    const fleet = await startFleet(4, { ...workers('work'), maxCrashes });
    onTestFinished(() => fleet.stop());
    const done = new AbortController();
    const killing = fleet.killEvery(400, done.signal);

    await emitAmongKills(events, portion, fleet, (n) => hub.emit('work', { n }));
    await until('all events settled', async () => (await ended(hub, 'settled')) === events);
    done.abort();
    await killing;

    const settledAt = new Map<string, number>();
    const endings = new Map<string, string>();
    const unreported = new Map<string, number>();
    let starts = 0;
    for (const { what, key, at } of ledger()) {
      if (what.startsWith('settled') && !settledAt.has(key)) {
        settledAt.set(key, at);
        endings.set(key, what);
      }
      if (what !== 'start') continue;
      starts += 1;
      unreported.set(key, (unreported.get(key) ?? 0) + 1);
      expect(settledAt.get(key), `event ${key} ran again after its outcome was recorded`).toBeUndefined();
    }
    expect(endings.size).toBe(events);
    const crashLoops = [...endings].filter(([, ending]) => ending === 'settled ERR_CRASH_LOOP').map(([key]) => key);
    for (const key of crashLoops) {
      expect(unreported.get(key), `starts of event ${key}`).toBeGreaterThanOrEqual(fewestStartsOfACrashLoop);
    }
    for (const [key, ending] of endings) {
      if (crashLoops.includes(key)) continue;
      expect(ending, `event ${key}`).toBe(failsForGood(Number(key)) ? 'settled ERR_FATAL' : 'settled completed');
    }
    const failed = [...endings.values()].filter((ending) => ending !== 'settled completed').length;
    const exact = { received: events, completed: events - failed, failed, pending: 0, active: 0 };
    expect(await hub.metrics('work')).toMatchObject(exact);
    expect(await hub.metrics('settled')).toMatchObject({ received: events, pending: 0, active: 0 });
    console.log(`${events} events, ${starts} starts, ${fleet.kills} kills, crash loops: ${crashLoops.length}`);
  });

  it(`${runs} workflow runs end exactly once, and resume at the interrupted step, while workers are killed at random`, async () => {
    const { hub, workers, ledger } = await set(['ordered', 'flow.ended']);
    const fleet = await startFleet(4, { ...workers('flow'), maxCrashes });
    onTestFinished(() => fleet.stop());
    const done = new AbortController();
    const killing = fleet.killEvery(400, done.signal);

    await emitAmongKills(runs, 25, fleet, (n) => hub.emit('ordered', { n }));
    await until('all runs ended', async () => (await ended(hub, 'flow.ended')) === runs);
    done.abort();
    await killing;

    const reached = new Map<string, string[]>();
    const endings = new Map<string, string>();
    for (const { what, key } of ledger()) {
      const [verb, word = ''] = what.split(' ');
      if (verb === 'ended') endings.set(key, word);
      if (verb !== 'start') continue;
      expect(endings.get(key), `run ${key} continued after its end`).toBeUndefined();
      const steps = reached.get(key) ?? [];
      const [index, last] = [workflowSteps.indexOf(word), workflowSteps.indexOf(steps.at(-1) ?? '')];
      expect(index, `run ${key} went back from ${steps.at(-1)} to ${word}`).toBeGreaterThanOrEqual(last);
      expect(index, `run ${key} skipped a step`).toBeLessThanOrEqual(last + 1);
      reached.set(key, [...steps, word]);
    }
    expect(endings.size).toBe(runs);
    for (const [key, ending] of endings) {
      const steps = reached.get(key) ?? [];
      const last = steps.at(-1);
      if (ending === 'completed') expect(last, `run ${key}`).toBe(workflowSteps.at(-1));
      else {
        expect(ending, `run ${key}`).toBe('ERR_CRASH_LOOP');
        expect(steps.filter((step) => step === last).length).toBeGreaterThanOrEqual(fewestStartsOfACrashLoop);
      }
    }
    // On Redis a killed process counts as running for 16 seconds.
    if (name === 'Postgres') {
      await until('killed workers are listed', async () => (await hub.lostProcesses()).length > 0);
      for (const { pid } of await hub.lostProcesses()) expect(fleet.killed).toContain(pid);
    }
    const failed = [...endings.values()].filter((ending) => ending !== 'completed').length;
    const [counts] = await hub.transport.counts.get(['workflow\u001fflow']);
    expect(counts?.total).toMatchObject({ received: runs, completed: runs - failed, failed, pending: 0 });
    console.log(`${runs} runs, ${fleet.kills} kills, crash loops: ${failed}`);
  });
});

/** Emits in portions, and waits for a kill after each. */
async function emitAmongKills(
  count: number,
  portion: number,
  fleet: Fleet,
  emit: (n: number) => Promise<unknown>,
): Promise<void> {
  for (let sent = 0; sent < count; sent += portion) {
    const { kills } = fleet;
    await Promise.all(Array.from({ length: portion }, (_, i) => emit(sent + i + 1)));
    await until('a worker is killed', () => fleet.kills > kills);
  }
}

async function ended(hub: Hub, type: string): Promise<number> {
  const { completed, failed } = await hub.metrics(type);
  return completed + failed;
}
