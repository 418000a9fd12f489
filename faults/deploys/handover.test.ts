import { expect, it, onTestFinished } from 'vitest';
import { expectLastDeathsAlone } from '../workers/crash-loops.js';
import { startFleet } from '../workers/fleet.js';
import { workflowSteps } from '../workers/scenarios.js';
import { type Scene, setScene, until } from '../workers/scene.js';
import { startWorker } from '../workers/start-worker.js';

it('event loop blocked past the lease: the second worker takes over, the first is fenced', async () => {
  const { hub, workers, ledger } = await setScene(['stuck', 'won']);
  const blocking = await startWorker({ ...workers('stuck'), variant: 'blocking' });
  onTestFinished(() => blocking.kill('SIGKILL'));
  await hub.emit('stuck', null);
  await until('the first worker has begun', () => ledger().some(({ what }) => what === 'start blocking'));
  // The second one keeps what it takes over, however long the machine stands still.
  const second = await startWorker({ ...workers('stuck'), variant: 'second', lockDurationMs: 300_000 });
  onTestFinished(() => second.kill('SIGKILL'));
  await until('the blocked handler has ended', () => ledger().some(({ what }) => what === 'end blocking'));
  await until('the event has an outcome', () => ledger().some(({ what }) => what.startsWith('won')));
  // The first worker finishes with its event before it takes another one.
  await hub.emit('stuck', null);
  await until('both are done', async () => (await hub.metrics('won')).completed === 2);
  expect(await hub.metrics('stuck')).toMatchObject({ received: 2, completed: 2, failed: 0, retried: 0, pending: 0 });
  const [first] = ledger().filter(({ what }) => what.startsWith('won'));
  expect(first?.what).toBe('won second');
  expect(ledger().filter(({ what, attempt }) => what === 'start second' && attempt === 1).length).toBeGreaterThan(0);
});

it('SIGTERM during a long handler: exits in time, and its event is taken over at once with no attempt spent', async () => {
  const { hub, workers, ledger } = await setScene(['long']);
  // Long leases: nothing but the release of the first worker lets the second one take over.
  const options = { ...workers('long'), lockDurationMs: 300_000 };
  const first = await startWorker(options);
  onTestFinished(() => first.kill('SIGKILL'));
  await hub.emit('long', null);
  await until('the handler has begun', () => ledger().length === 1);
  const second = await startWorker(options);
  onTestFinished(() => second.kill('SIGKILL'));
  first.kill('SIGTERM');
  await first.ended;
  await until('the second worker took it over', () => ledger().length === 2);
  expect(ledger()).toMatchObject([
    { attempt: 1, pid: first.pid },
    { attempt: 1, pid: second.pid },
  ]);
  expect(await hub.metrics('long')).toMatchObject({ received: 1, pending: 1, active: 1, retried: 0 });
});

it('poison events: each fails after three crashes, and the events next to them complete', async () => {
  const { hub, workers, ledger } = await setScene(['poison', 'escalated']);
  const fleet = await startFleet(2, { ...workers('poison'), maxCrashes: 3 });
  onTestFinished(() => fleet.stop());
  const neighbours = 50;
  const poisons = 2;
  const emitNeighbours = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, () => hub.emit('poison', { deadly: false })));
  // More events than two workers run at once: the poison events always run next to others.
  await emitNeighbours(neighbours / 2);
  const deadly = await hub.emitMany('poison', Array(poisons).fill({ deadly: true }));
  await emitNeighbours(neighbours / 2);
  await until('all have ended', async () => (await hub.metrics('poison')).pending === 0);
  const failures = await hub.failures('poison');
  expect(failures.map(({ name }) => name)).toEqual(Array(poisons).fill('CrashLoopError'));
  expect(failures.map(({ id }) => id).toSorted()).toEqual(deadly.map(({ id }) => id).toSorted());
  const { completed, failed } = await hub.metrics('poison');
  expect({ completed, failed }).toEqual({ completed: neighbours, failed: poisons });
  expectLastDeathsAlone(ledger(), deadly);
  const starts = ledger().filter(({ what }) => what === 'start deadly');
  // A process that was blocked for a second has lost its lease, and counts no start.
  expect(starts.length).toBeLessThanOrEqual(4 * poisons);
  await until('the follow-up of the failure ran', () => ledger().some(({ what }) => what === 'escalated'));
});

it('deploy without a type: its events wait for a process that handles it again', async () => {
  const { hub, workers, ledger } = await setScene(['work', 'settled', 'long']);
  const before = await startWorker(workers('work'));
  before.kill('SIGKILL');
  await before.ended;
  const events = 30;
  await Promise.all(Array.from({ length: events }, (_, i) => hub.emit('work', { n: i + 2 })));
  const without = await startWorker(workers('long'));
  onTestFinished(() => without.kill('SIGKILL'));
  // Its event is behind them in their shared queue.
  await hub.emit('long', null);
  await until('the worker has passed them all', () => ledger().length > 0);
  expect(await hub.metrics('work')).toMatchObject({ received: events, pending: events });
  const again = await startWorker(workers('work'));
  onTestFinished(() => again.kill('SIGKILL'));
  await until('all have ended', async () => (await hub.metrics('settled')).completed === events);
  expect(await hub.metrics('work')).toMatchObject({ received: events, completed: events, pending: 0 });
});

/** Kills a worker during the third step of a run, and starts one of another version. */
async function deployDuringRun(variant: string): Promise<Scene> {
  const scene = await setScene(['ordered', 'flow.ended']);
  const before = await startWorker({ ...scene.workers('flow'), variant: 'slow' });
  onTestFinished(() => before.kill('SIGKILL'));
  await scene.hub.emit('ordered', { n: 1 });
  await until('the third step has begun', () => scene.ledger().some(({ what }) => what === 'start pack'));
  before.kill('SIGKILL');
  const after = await startWorker({ ...scene.workers('flow'), variant });
  onTestFinished(() => after.kill('SIGKILL'));
  await until('the run ended', async () => (await scene.hub.metrics('flow.ended')).completed === 1);
  return scene;
}

const runType = 'workflow\u001fflow';

it('deploy with an appended step: interrupted runs resume and complete with it', async () => {
  const { hub, ledger } = await deployDuringRun('appended');
  const ends = ledger().flatMap(({ what }) => (what.startsWith('end') ? [what] : []));
  expect(ends).toEqual([...workflowSteps.map((name) => `end ${name}`), 'end audit', 'ended completed']);
  const [runs] = await hub.transport.counts.get([runType]);
  expect(runs?.total).toMatchObject({ received: 1, completed: 1, failed: 0, pending: 0 });
});

it('deploy with steps in another order: interrupted runs fail with WorkflowVersionError', async () => {
  const { hub, ledger } = await deployDuringRun('reversed');
  expect(ledger().map(({ what }) => what)).not.toContain('start ship');
  const [runs] = await hub.transport.counts.get([runType]);
  expect(runs?.total).toMatchObject({ received: 1, failed: 1, pending: 0 });
  expect(await hub.transport.counts.failures(runType)).toMatchObject([{ name: 'WorkflowVersionError' }]);
});

it('clocks one minute apart: every delayed event runs, none before its time', async () => {
  const { hub, workers, ledger } = await setScene(['work', 'settled']);
  for (const clockSkewMs of [-60_000, 60_000]) {
    const worker = await startWorker({ ...workers('work'), clockSkewMs });
    onTestFinished(() => worker.kill('SIGKILL'));
  }
  const emittedAt = Number(process.hrtime.bigint()) / 1e6;
  const delayMs = 1_500;
  await Promise.all(Array.from({ length: 100 }, (_, i) => hub.emit('work', { n: i + 2 }, { delayMs })));
  await until('all have ended', async () => (await hub.metrics('settled')).completed === 100);
  const starts = ledger().filter(({ what }) => what === 'start');
  expect(new Set(starts.map(({ key }) => key)).size).toBe(100);
  for (const { at } of starts) expect(at - emittedAt).toBeGreaterThanOrEqual(delayMs - 1);
  expect(await hub.metrics('work')).toMatchObject({ received: 100, failed: 2, completed: 98, active: 0 });
});
