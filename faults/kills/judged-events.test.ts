import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { isLong, setScene, until } from '../workers/scene.js';
import { startWorker, type WorkerProcess } from '../workers/start-worker.js';
import { endOf } from './judged-scenario.js';

const runs = isLong ? 3_000 : 100;

it(`each event is taken once by ${runs} runs that decide by when, and each run is cancelled once, while a web process and workers are killed`, async () => {
  const { hub, workers, ledger } = await setScene(['judged.ended']);
  const options = { ...workers('judged'), lockDurationMs: 1_000 };
  let web: WorkerProcess = await startWorker({ ...options, variant: `web ${runs}` });
  onTestFinished(() => web.kill('SIGKILL'));
  const fleet = await startFleet(2, options);
  onTestFinished(() => fleet.stop());
  const done = new AbortController();
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
  const killing = [killWeb(), fleet.killEvery(400, done.signal)];
  const ended = async (): Promise<number> => {
    const { completed, failed } = await hub.metrics('judged.ended');
    return completed + failed;
  };
  await until('all runs have ended', async () => (await ended()) >= runs && webKills > 1);
  done.abort();
  await Promise.all(killing);

  const ends = new Map<string, Set<string>>();
  for (const { what, key } of ledger()) {
    if (what.startsWith('ended ')) ends.set(key, (ends.get(key) ?? new Set()).add(what.slice('ended '.length)));
  }
  for (let n = 0; n < runs; n += 1) {
    // A handler that a kill interrupts writes the end of a run again, with the id of the same event.
    const [end = '', ...others] = ends.get(String(n)) ?? [];
    expect(others, `run ${n} ended once`).toEqual([]);
    expect(end.slice(0, end.lastIndexOf(' ')), `end of run ${n}`).toBe(endOf(n));
  }
  const failed = Array.from({ length: runs }, (_, n) => endOf(n)).filter((end) => end.startsWith('ERR')).length;
  const [counts] = await hub.transport.counts.get(['workflow\u001fjudged']);
  const total = { received: runs, completed: runs - failed, failed, cancelled: failed };
  expect(counts?.total).toMatchObject({ ...total, pending: 0, active: 0, suspended: 0 });
  expect(await hub.metrics('judged.ended')).toMatchObject({ received: runs, completed: runs, failed: 0 });
  const asked = ledger().filter(({ what }) => what.startsWith('asked '));
  const again = asked.length - new Set(asked.map(({ what, key }) => `${what} ${key}`)).size;
  // Otherwise no process that decided has died before its verdict.
  expect(again).toBeGreaterThan(0);
  console.log(
    `${runs} runs, ${failed} cancelled, ${again} asked again, ${webKills} kills of web and ${fleet.kills} of workers`,
  );
});
