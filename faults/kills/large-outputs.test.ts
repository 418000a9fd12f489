import { readdirSync } from 'node:fs';
import type { WorkflowHandle } from 'hubline';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { setScene, until } from '../workers/scene.js';
import { blobFolder, large, largeOutputs } from './large-outputs.js';

const fewestRuns = 3;

it('every output that a killed worker recorded has its blob', async () => {
  const { hub, workers, ledger } = await setScene([]);
  const options = workers('large');
  const fleet = await startFleet(3, options);
  onTestFinished(() => fleet.stop());
  const handles: WorkflowHandle<string>[] = [];
  const done = new AbortController();
  const killing = fleet.killEvery(400, done.signal);
  // Without a kill it shows nothing.
  while (handles.length < fewestRuns || fleet.kills === 0) {
    const first = handles.length;
    const started = await Promise.all(
      Array.from({ length: fewestRuns }, (_, n) => hub.startWorkflow(large, first + n)),
    );
    handles.push(...started);
    await Promise.all(started.map((run) => run.result()));
  }
  done.abort();
  await killing;

  const stored = new Set(readdirSync(blobFolder(options.ledger)).filter((name) => !name.endsWith('.tmp')));
  for (const { runId } of handles) {
    // This hub has no blob store, so it sees the references.
    const { steps } = await hub.getRun(large, runId, { outputs: true });
    const names = JSON.stringify(steps).match(/(?<="hubline:blob":")[^"]+/g) ?? [];
    expect(names).toHaveLength(largeOutputs);
    expect(names.filter((name) => !stored.has(name))).toEqual([]);
  }
  const lengths = (n: number): number =>
    Array.from({ length: largeOutputs }, (_, step) => `${step} `.length * (1_000 + n)).reduce((a, b) => a + b);
  const runs = handles.length;
  await until('all is read', () => ledger().length >= runs);
  const read = new Set(ledger().map(({ key }) => Number(key)));
  expect(read).toEqual(new Set(Array.from({ length: runs }, (_, n) => lengths(n))));
});
