import { setTimeout as delay } from 'node:timers/promises';
import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import type { LedgerEntry } from '../workers/ledger.js';
import { abortable, replaceable } from '../workers/scenarios.js';
import { isLong, patientMs, setScene, until } from '../workers/scene.js';

const events = isLong ? 3_000 : 300;
/** With fewer a test shows nothing. A busy machine takes long to start the workers that replace killed ones. */
const fewestKills = 3;

/** The handler of the next event of a key starts when that of the former one has returned, or its process is dead. */
function expectOneAtATime(entries: readonly LedgerEntry[]): void {
  const running = new Map<string, { pid: number; n: string }>();
  const dead = new Set<number>();
  for (const { what, key, pid } of entries) {
    const name = String(Number(key) % 10);
    if (what === 'start') {
      const former = running.get(name);
      if (former !== undefined) dead.add(former.pid);
      expect(dead.has(pid), `event ${key} started beside ${former?.n} of the same key`).toBe(false);
      running.set(name, { pid, n: key });
    } else if (what === 'return') {
      running.delete(name);
    }
  }
}

it(`${events} events or more, some of which another process cancels, have one outcome each, while workers are killed at random`, async () => {
  const { workers, ledger } = await setScene([]);
  const options = workers('abortable');
  const { url, prefix } = options;
  const hub = createHub({ service: 'test', transport: redisTransport({ url, prefix, emitTimeoutMs: patientMs }) });
  hub.event(abortable);
  await hub.start();
  onTestFinished(async () => {
    await hub.stop();
  });
  const fleet = await startFleet(3, { ...options, lockDurationMs: 1_000 });
  onTestFinished(() => fleet.stop());
  const done = new AbortController();
  const killing = fleet.killEvery(400, done.signal);

  const cancelled = new Set<string>();
  let count = 0;
  const work = async (): Promise<void> => {
    while (count < events || fleet.kills < fewestKills) {
      const n = count;
      count += 1;
      const { id } = await hub.emit(abortable, { n });
      if (n % 2 === 0) continue;
      // Some wait, some run, some have ended.
      await delay(Math.random() * 600);
      if (await hub.cancel(id)) cancelled.add(String(n));
    }
  };
  await Promise.all(Array.from({ length: 10 }, work));
  await until('all have ended', async () => (await hub.metrics('abortable')).pending === 0);
  await until('all effects have happened', async () => (await hub.metrics('aborted.done')).pending === 0);
  done.abort();
  await killing;

  const entries = ledger();
  const keysOf = (what: string): string[] => entries.flatMap((entry) => (entry.what === what ? [entry.key] : []));
  const all = Array.from({ length: count }, (_, n) => String(n));
  const completed = all.filter((n) => !cancelled.has(n));
  expect(new Set(keysOf('done')), 'events whose emits were accepted').toEqual(new Set(completed));
  expect(new Set(keysOf('failed')), 'events with onFailure').toEqual(cancelled);
  const metrics = await hub.metrics('abortable');
  const failed = cancelled.size;
  expect(metrics).toMatchObject({
    received: count,
    completed: count - failed,
    failed,
    cancelled: failed,
    pending: 0,
  });
  expect(failed).toBeGreaterThan(0);
  expect(keysOf('aborted').length, 'handlers that were aborted').toBeGreaterThan(0);

  expectOneAtATime(entries);
  console.log(`${count} events, ${failed} cancelled, ${keysOf('aborted').length} aborted, ${fleet.kills} kills`);
});

it(`${events} events, each of which replaces the one before of its key, have one outcome each, while workers are killed at random`, async () => {
  const { workers, ledger } = await setScene([]);
  const options = workers('abortable');
  const { url, prefix } = options;
  const hub = createHub({ service: 'test', transport: redisTransport({ url, prefix, emitTimeoutMs: patientMs }) });
  hub.event(replaceable);
  await hub.start();
  onTestFinished(async () => {
    await hub.stop();
  });
  const fleet = await startFleet(3, { ...options, lockDurationMs: 1_000 });
  onTestFinished(() => fleet.stop());
  const done = new AbortController();
  const killing = fleet.killEvery(400, done.signal);
  const keys = 10;
  const emitKey = async (_: unknown, key: number): Promise<void> => {
    for (let n = key; n < events; n += keys) {
      await hub.emit(replaceable, { n });
      // Some wait, some run, some have ended.
      await delay(Math.random() * 600);
    }
  };
  await Promise.all(Array.from({ length: keys }, emitKey));
  await until('workers were killed', () => fleet.kills >= fewestKills);
  done.abort();
  await killing;
  await until('all have ended', async () => (await hub.metrics('replaceable')).pending === 0);
  await until('all effects have happened', async () => (await hub.metrics('aborted.done')).pending === 0);

  const entries = ledger();
  const completed = new Set(entries.flatMap(({ what, key }) => (what === 'done' ? [key] : [])));
  const cancelled = events - completed.size;
  expect(await hub.metrics('replaceable')).toMatchObject({
    received: events,
    completed: completed.size,
    failed: cancelled,
    cancelled,
    deduplicated: 0,
  });
  expect(cancelled).toBeGreaterThan(0);
  expect(completed.size).toBeGreaterThan(keys);
  for (let n = events - keys; n < events; n += 1) {
    expect(completed.has(String(n)), `nothing replaces event ${n}`).toBe(true);
  }
  expectOneAtATime(entries);
  console.log(`${events} events, ${cancelled} replaced, ${fleet.kills} kills`);
});
