import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { isLong, setScene, until } from '../workers/scene.js';
import { startWorker, type WorkerProcess } from '../workers/start-worker.js';
import { isCancelled } from './called-scenario.js';

const runs = isLong ? 3_000 : 150;

it(`${runs} runs that a web process starts, awaits and cancels end once, while it and workers of two versions are killed`, async () => {
  const { hub, workers, ledger } = await setScene(['called.failed']);
  const options = workers('called');
  // The first runs are accepted before the service has ever started.
  let web: WorkerProcess = await startWorker({ ...options, variant: `web ${runs}` });
  onTestFinished(() => web.kill('SIGKILL'));
  await until('runs have started', () => ledger().some(({ what }) => what.startsWith('started')));
  const old = await startFleet(2, { ...options, variant: 'v1' });
  onTestFinished(() => old.stop());
  const done = new AbortController();
  const isAwaited = (): Set<string> =>
    new Set(ledger().flatMap(({ what, key }) => (what.startsWith('awaited') ? [key] : [])));
  let webKills = 0;
  const killWeb = async (): Promise<void> => {
    while (!done.signal.aborted) {
      await delay(500 + Math.random() * 500, undefined, { signal: done.signal }).catch(() => {});
      if (done.signal.aborted) return;
      web.kill('SIGKILL');
      await web.ended;
      webKills += 1;
      web = await startWorker({ ...options, variant: `web ${runs}` });
    }
  };
  const killing = [killWeb(), old.killEvery(400, done.signal)];
  await until('a quarter of the runs is awaited', () => isAwaited().size > runs / 4);
  const newer = await startFleet(1, { ...options, variant: 'v2' });
  onTestFinished(() => newer.stop());
  await until('all runs are awaited', () => isAwaited().size === runs && webKills > 1 && old.kills > 1);
  done.abort();
  await Promise.all(killing);

  const entries = ledger();
  const valuesOf = (what: string): Map<string, Set<string>> => {
    const values = new Map<string, Set<string>>();
    for (const entry of entries) {
      if (!entry.what.startsWith(`${what} `)) continue;
      const known = values.get(entry.key) ?? new Set();
      values.set(entry.key, known.add(entry.what.slice(what.length + 1)));
    }
    return values;
  };
  const [started, awaited, cancels] = [valuesOf('started'), valuesOf('awaited'), valuesOf('cancel')];
  let failed = 0;
  for (let n = 0; n < runs; n += 1) {
    const key = String(n);
    expect(started.get(key)?.size, `run ${n} was started once`).toBe(1);
    const [result, ...others] = awaited.get(key) ?? [];
    expect(others, `run ${n} has one result`).toEqual([]);
    const wasCancelled = result === 'ERR_WORKFLOW_CANCELLED';
    if (wasCancelled) failed += 1;
    else expect(result).toBe(key);
    if (!isCancelled(n)) expect(wasCancelled, `run ${n} was not cancelled`).toBe(false);
    if (cancels.get(key)?.has('true') === true) expect(wasCancelled, `cancel of run ${n} was recorded`).toBe(true);
  }
  const [counts] = await hub.transport.counts.get(['workflow\u001fcalled']);
  const end = {
    received: runs,
    completed: runs - failed,
    failed,
    cancelled: failed,
    pending: 0,
    active: 0,
    suspended: 0,
  };
  expect(counts?.total).toMatchObject(end);
  expect(await hub.metrics('called.failed')).toMatchObject({ received: failed });
  expect(failed).toBeGreaterThan(0);
  console.log(`${runs} runs, ${failed} cancelled, ${webKills} kills of web and ${old.kills + newer.kills} of workers`);
});
