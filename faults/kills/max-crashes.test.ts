import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createHub, type Hub } from 'hubline';
import { sqliteObserver, sqliteTransport } from 'hubline/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { newFolder } from '../sqlite/sqlite-process.js';
import { startFleet } from '../workers/fleet.js';
import { readLedger } from '../workers/ledger.js';
import { isLong, patientMs, setScene, until } from '../workers/scene.js';

const limits = isLong ? [2, 3, 5] : [3];

it.each(limits)('on Redis with maxCrashes %i, an event fails after it ended as many processes', async (maxCrashes) => {
  const { hub, workers } = await setScene(['poison', 'escalated']);
  const options = workers('poison');
  const fleet = await startFleet(1, { ...options, maxCrashes });
  onTestFinished(() => fleet.stop());
  await hub.emit('poison', { deadly: true });
  await expectStarts(hub, options.ledger, maxCrashes);
});

it.each(limits)('on a file with maxCrashes %i, an event fails after it ended as many processes', async (maxCrashes) => {
  const ledger = newFolder();
  const file = join(ledger, 'hub.db');
  const emitter = createHub({ service: 'shop', transport: sqliteTransport({ file }) });
  emitter.event({ type: 'poison', subscribers: ['shop'] });
  await emitter.start();
  await emitter.emit('poison', { deadly: true });
  await emitter.stop();
  const url = pathToFileURL(file).href;
  const fleet = await startFleet(1, { scenario: 'poison', url, prefix: '', ledger, maxCrashes });
  onTestFinished(() => fleet.stop());
  const hub = createHub({ service: 'shop', transport: sqliteObserver({ file, timeoutMs: patientMs }) });
  hub.event({ type: 'poison' });
  await hub.start();
  onTestFinished(async () => void (await hub.stop()));
  await expectStarts(hub, ledger, maxCrashes);
});

/** Waits until the event has failed, and expects that its handler had started once per crash. */
async function expectStarts(hub: Hub, ledger: string, maxCrashes: number): Promise<void> {
  await until('the event has failed', async () => (await hub.metrics('poison')).failed === 1);
  expect(await hub.failures('poison')).toMatchObject([{ name: 'CrashLoopError' }]);
  expect(readLedger(ledger).filter(({ what }) => what === 'start deadly')).toHaveLength(maxCrashes);
}
