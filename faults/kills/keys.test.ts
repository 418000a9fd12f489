import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { keyCount, keyedWork } from '../workers/scenarios.js';
import { isLong, patientMs, setScene, until } from '../workers/scene.js';

const events = isLong ? 5_000 : 500;

it(`${events} events of ${keyCount} keys run in order of acceptance while workers are killed at random`, async () => {
  const { workers, ledger } = await setScene([]);
  const options = workers('keyed');
  const { url, prefix } = options;
  const hub = createHub({ service: 'test', transport: redisTransport({ url, prefix, emitTimeoutMs: patientMs }) });
  hub.event(keyedWork);
  await hub.start();
  onTestFinished(async () => {
    await hub.stop();
  });
  const fleet = await startFleet(3, options);
  onTestFinished(() => fleet.stop());
  const done = new AbortController();
  const killing = fleet.killEvery(500, done.signal);
  for (let n = 0; n < events; n += 1) await hub.emit(keyedWork, { n });
  await until('all events ended', async () => (await hub.metrics('keyed')).completed === events);
  done.abort();
  await killing;

  // An event starts again after a crash or a failure, and always before the next one of its key.
  const lastOfKey = new Map<number, number>();
  for (const { what, key } of ledger()) {
    if (what !== 'start') continue;
    const n = Number(key);
    const last = lastOfKey.get(n % keyCount);
    expect([last ?? n, (last ?? n - keyCount) + keyCount], `event ${n} after ${last}`).toContain(n);
    lastOfKey.set(n % keyCount, n);
  }
  expect([...lastOfKey.values()].sort((a, b) => a - b)).toEqual(
    Array.from({ length: keyCount }, (_, index) => events - keyCount + index),
  );
  expect(await hub.metrics('keyed')).toMatchObject({ completed: events, failed: 0, pending: 0, active: 0 });
  console.log(`${events} events, ${fleet.kills} kills`);
}, 300_000);
