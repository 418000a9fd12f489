import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createHub } from 'hubline';
import { sqliteObserver, sqliteTransport } from 'hubline/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { expectLastDeathsAlone } from '../workers/crash-loops.js';
import { startFleet } from '../workers/fleet.js';
import { readLedger } from '../workers/ledger.js';
import { patientMs, until } from '../workers/scene.js';
import { startWorker } from '../workers/start-worker.js';
import { newFolder } from './sqlite-process.js';

const neighbours = 4;
const poisons = 2;

it('poison events on a file: each fails after three crashes, and the events next to them complete', async () => {
  const ledger = newFolder();
  const file = join(ledger, 'hub.db');
  const options = { scenario: 'poison', url: pathToFileURL(file).href, prefix: '', ledger, maxCrashes: 3 };
  const subscribing = await startWorker(options);
  onTestFinished(() => subscribing.kill('SIGKILL'));
  subscribing.kill('SIGTERM');
  await subscribing.ended;
  const emitter = createHub({ service: 'shop', transport: sqliteTransport({ file }) });
  emitter.event({ type: 'poison' });
  await emitter.start();
  const emitNeighbours = (): Promise<unknown> =>
    emitter.emitMany('poison', Array(neighbours / 2).fill({ deadly: false }));
  await emitNeighbours();
  const deadly = await emitter.emitMany('poison', Array(poisons).fill({ deadly: true }));
  await emitNeighbours();
  await emitter.stop();

  const fleet = await startFleet(1, options);
  onTestFinished(() => fleet.stop());
  const hub = createHub({ service: 'shop', transport: sqliteObserver({ file, timeoutMs: patientMs }) });
  hub.event({ type: 'poison' });
  await hub.start();
  onTestFinished(async () => void (await hub.stop()));
  await until('all have ended', async () => (await hub.metrics('poison')).pending === 0);
  const failures = await hub.failures('poison');
  expect(failures.map(({ name }) => name)).toEqual(Array(poisons).fill('CrashLoopError'));
  expect(failures.map(({ id }) => id).toSorted()).toEqual(deadly.map(({ id }) => id).toSorted());
  const metrics = { completed: neighbours, failed: poisons, deadLetters: poisons };
  expect(await hub.metrics('poison')).toMatchObject(metrics);
  expectLastDeathsAlone(readLedger(ledger), deadly);
  const starts = readLedger(ledger).filter(({ what }) => what === 'start deadly');
  expect(starts.length).toBeLessThanOrEqual(3 * poisons);
  const isEscalated = (): boolean => readLedger(ledger).some(({ what }) => what === 'escalated');
  await until('the follow-up of the failure ran', isEscalated);
});
