import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { setScene, until } from '../workers/scene.js';
import { startWorker } from '../workers/start-worker.js';
import { live, parts } from './live-scenario.js';

it('live output is read once and in order while its workers and its reader are killed at random', async () => {
  const { hub, workers, ledger } = await setScene(['go']);
  const fleet = await startFleet(3, workers('live'));
  onTestFinished(() => fleet.stop());
  const { runId } = await hub.startWorkflow(live, null);
  const done = new AbortController();
  const killing = fleet.killEvery(500, done.signal);
  /** Reads in a process of its own until a text has been read. */
  const readTo = async (text: string): Promise<void> => {
    const reader = await startWorker({ ...workers('live'), variant: `web ${runId}` });
    await until(`${text} is read`, () => ledger().some(({ what }) => what === text));
    reader.kill('SIGKILL');
    await reader.ended;
  };
  await readTo('{"begin":1}');
  await readTo('{"begin":3}');
  await until('the run waits', async () => (await hub.find(runId))[0]?.status === 'suspended');
  await hub.emit('go', {});
  await readTo('{"begin":6}');
  await readTo('end');
  // Otherwise it shows nothing.
  await until('workers are killed', () => fleet.kills > 1);
  done.abort();
  await killing;

  const read = ledger();
  expect(read.map(({ key }) => Number(key))).toEqual(read.map((_, index) => index));
  const texts = read.map(({ what }) => what);
  const begun = texts.filter((text) => text.startsWith('{"begin"'));
  expect(begun).toEqual(Array.from({ length: parts }, (_, part) => JSON.stringify({ begin: part })));
  for (let part = 0; part < parts; part += 1) {
    // A step whose process died publishes again, in another attempt.
    const last = texts.lastIndexOf(JSON.stringify({ half: part }));
    const { attempt } = read[last] ?? {};
    expect(texts[last + 1], `after the last attempt at part ${part}`).toBe(JSON.stringify({ whole: part }));
    expect(read[last + 1]?.attempt).toBe(attempt);
  }
});
