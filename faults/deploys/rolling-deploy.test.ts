import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { isLong, setScene, until } from '../workers/scene.js';

const portions = isLong ? 40 : 2;
const perPortion = 20;
const runs = 3 * portions * perPortion;
const runType = 'workflow\u001frolling';

it(`${runs} runs of two versions end exactly once, and keep their records, while a deploy rolls and workers are killed`, async () => {
  const { hub, workers, ledger } = await setScene(['begun', 'deployed', 'rolled', 'rolling.failed']);
  const options = workers('rolling');
  let started = 0;
  const old = await startFleet(2, { ...options, variant: 'v1' });
  onTestFinished(() => old.stop());
  const done = new AbortController();
  const killing = [old.killEvery(300, done.signal)];
  const emit = async (kills: () => number, waits = false): Promise<void> => {
    for (let portion = 0; portion < portions; portion += 1) {
      const before = kills();
      await Promise.all(Array.from({ length: perPortion }, () => hub.emit('begun', { n: started++, waits })));
      await until('a worker is killed', () => kills() > before);
    }
  };
  await emit(() => old.kills, true);
  const ofOldVersion = started;
  await until('all runs of the old version have a label, and wait', async () => {
    const labelled = ledger().filter(({ what }) => what.startsWith('v1 ran label'));
    const [counts] = await hub.transport.counts.get([runType]);
    return new Set(labelled.map(({ key }) => key)).size === ofOldVersion && counts?.total.suspended === ofOldVersion;
  });
  // Both versions share the runs.
  const next = await startFleet(2, { ...options, variant: 'v2' });
  onTestFinished(() => next.stop());
  killing.push(next.killEvery(300, done.signal));
  await emit(() => old.kills + next.kills);
  await old.stop();
  await emit(() => next.kills);
  // Runs that the old version began go on in the new one.
  const ended = async (): Promise<number> => {
    const counts = await Promise.all(['rolled', 'rolling.failed'].map((type) => hub.metrics(type)));
    return counts.reduce((sum, { completed }) => sum + completed, 0);
  };
  const isOver = async (): Promise<boolean> => {
    await hub.emit('deployed', null);
    return (await ended()) === runs;
  };
  await until('all runs ended', isOver);
  done.abort();
  await Promise.all(killing);

  const entries = ledger();
  expect(entries.filter(({ what }) => what.startsWith('failed'))).toEqual([]);
  const results = new Map<string, Record<string, string>>();
  for (const { what, key } of entries) {
    if (!what.startsWith('ended ')) continue;
    const steps = Object(JSON.parse(what.slice('ended '.length))) as Record<string, string>;
    // The handler of the end may run again after a crash, with the same result.
    expect(results.get(key) ?? steps).toEqual(steps);
    results.set(key, steps);
  }
  expect(results.size).toBe(runs);
  const shapes = new Map<string, number>();
  const recorded = new Set([...results.values()].flatMap((steps) => Object.values(steps)));
  for (const steps of results.values()) {
    const shape = Object.keys(steps).join(' ');
    shapes.set(shape, (shapes.get(shape) ?? 0) + 1);
  }
  const allowed = ['label', 'book'].flatMap((way) => ['', ' audit'].map((end) => `reserve ${way} pack tell${end}`));
  // Only the old version leaves out the audit, and it never books.
  expect(allowed.filter((shape) => shape !== 'reserve book pack tell')).toEqual(
    expect.arrayContaining([...shapes.keys()]),
  );
  expect(shapes.get('reserve book pack tell audit')).toBeGreaterThan(0);
  expect(shapes.get('reserve label pack tell audit')).toBeGreaterThanOrEqual(ofOldVersion);
  // A step may run again if its process died before it was recorded, and never after that.
  const seen = new Set<string>();
  for (const { what, key } of entries) {
    const [, , name = '', value = ''] = what.split(' ');
    if (!what.includes(' ran ')) continue;
    expect(seen.has(`${key} ${name}`), `step ${name} of run ${key} ran after it was recorded`).toBe(false);
    if (recorded.has(value)) seen.add(`${key} ${name}`);
  }

  const [counts] = await hub.transport.counts.get([runType]);
  const end = { received: runs, completed: runs, failed: 0, pending: 0, active: 0, suspended: 0 };
  expect(counts?.total).toMatchObject(end);
  expect(await hub.metrics('rolled')).toMatchObject({ received: runs, completed: runs });
  console.log(`${runs} runs, ${old.kills} and ${next.kills} kills, ${JSON.stringify([...shapes])}`);
});
