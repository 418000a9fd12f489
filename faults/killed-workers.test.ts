import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from './fleet.js';
import { failsForGood, workflowSteps } from './scenarios.js';
import { isLong, setScene, until } from './scene.js';

const events = isLong ? 10_000 : 2_000;
const runs = isLong ? 500 : 100;
// Here no handler is to blame for what happens to its process.
const maxCrashes = 1_000;

it(`${events} events end once each while workers are killed at random`, async () => {
  const { hub, workers, ledger } = await setScene(['work', 'settled']);
  const fleet = await startFleet(4, { ...workers('work'), maxCrashes });
  onTestFinished(() => fleet.stop());
  const done = new AbortController();
  const killing = fleet.killEvery(400, done.signal);

  for (let n = 1; n <= events; n += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => hub.emit('work', { n: n + i })));
  }
  await until('all events settled', async () => (await hub.metrics('settled')).completed === events, 240_000);
  done.abort();
  await killing;

  const failed = Array.from({ length: events }, (_, i) => i + 1).filter(failsForGood).length;
  expect(await hub.metrics('work')).toMatchObject({
    received: events,
    completed: events - failed,
    failed,
    pending: 0,
    active: 0,
  });
  expect(await hub.metrics('settled')).toMatchObject({ received: events, completed: events, failed: 0, pending: 0 });
  const settledAt = new Map<string, number>();
  const ran = new Set<string>();
  const endings = new Map<string, number>();
  let starts = 0;
  for (const { what, key, at } of ledger()) {
    if (what.startsWith('settled') && !settledAt.has(key)) {
      settledAt.set(key, at);
      endings.set(what, (endings.get(what) ?? 0) + 1);
    }
    if (what !== 'start') continue;
    starts += 1;
    ran.add(key);
    expect(settledAt.get(key), `event ${key} ran again after its outcome was recorded`).toBeUndefined();
  }
  expect(ran.size).toBe(events);
  expect(Object.fromEntries(endings)).toEqual({ 'settled completed': events - failed, 'settled ERR_FATAL': failed });
  expect(fleet.kills).toBeGreaterThan(3);
  console.log(`${events} events, ${starts} runs of their handler, ${fleet.kills} kills`);
});

it(`${runs} workflow runs end once each, and resume at their step, while workers are killed at random`, async () => {
  const { hub, workers, ledger } = await setScene(['ordered', 'flow.ended']);
  const fleet = await startFleet(4, { ...workers('flow'), maxCrashes });
  onTestFinished(() => fleet.stop());
  const done = new AbortController();
  const killing = fleet.killEvery(400, done.signal);

  await Promise.all(Array.from({ length: runs }, (_, n) => hub.emit('ordered', { n })));
  await until('all runs ended', async () => (await hub.metrics('flow.ended')).completed === runs, 240_000);
  done.abort();
  await killing;

  expect(await hub.metrics('flow.ended')).toMatchObject({ received: runs, completed: runs, pending: 0 });
  const nextStep = new Map<string, number>();
  for (const { what, key } of ledger()) {
    const [verb, step = ''] = what.split(' ');
    if (verb !== 'start') continue;
    const index = workflowSteps.indexOf(step);
    const reached = nextStep.get(key) ?? 0;
    expect(index, `run ${key} went back from ${workflowSteps[reached]} to ${step}`).toBeGreaterThanOrEqual(reached);
    expect(index, `run ${key} skipped a step`).toBeLessThanOrEqual(reached + 1);
    nextStep.set(key, index);
  }
  expect(nextStep.size).toBe(runs);
  expect(new Set(nextStep.values())).toEqual(new Set([workflowSteps.length - 1]));
});
