import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from './fleet.js';
import { setScene, until } from './scene.js';
import { startWorker } from './start-worker.js';

it('an event loop blocked past its lock: the second worker wins, the first is fenced', async () => {
  const { hub, workers, ledger } = await setScene(['stuck', 'won']);
  const blocking = await startWorker({ ...workers('stuck'), variant: 'blocking' });
  onTestFinished(() => blocking.kill('SIGKILL'));
  await hub.emit('stuck', null);
  await until('the first worker has begun', () => ledger().some(({ what }) => what === 'start blocking'));
  const second = await startWorker({ ...workers('stuck'), variant: 'second' });
  onTestFinished(() => second.kill('SIGKILL'));
  await until('the blocked handler came to its end', () => ledger().some(({ what }) => what === 'end blocking'));
  await until('the event has an outcome', () => ledger().some(({ what }) => what.startsWith('won')));
  // What the first worker still does with the event is done before it hands on another.
  await hub.emit('stuck', null);
  await until('both are done', async () => (await hub.metrics('won')).completed === 2);
  expect(await hub.metrics('stuck')).toMatchObject({ received: 2, completed: 2, failed: 0, retried: 0, pending: 0 });
  const [first] = ledger().filter(({ what }) => what.startsWith('won'));
  expect(first?.what).toBe('won second');
  expect(ledger().filter(({ what, attempt }) => what === 'start second' && attempt === 1).length).toBeGreaterThan(0);
});

it('SIGTERM under a handler of a minute: gone in time, and taken over at once with no attempt spent', async () => {
  const { hub, workers, ledger } = await setScene(['long']);
  const first = await startWorker(workers('long'));
  onTestFinished(() => first.kill('SIGKILL'));
  await hub.emit('long', null);
  await until('the handler has begun', () => ledger().length === 1);
  const second = await startWorker(workers('long'));
  onTestFinished(() => second.kill('SIGKILL'));
  const startedAt = performance.now();
  first.kill('SIGTERM');
  await first.ended;
  // It drains for a second.
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  await until('the second worker took it over', () => ledger().length === 2, 500);
  expect(ledger()).toMatchObject([
    { attempt: 1, pid: first.pid },
    { attempt: 1, pid: second.pid },
  ]);
  expect(await hub.metrics('long')).toMatchObject({ received: 1, pending: 1, active: 1, retried: 0 });
});

it('a handler that kills its process: dead after three crashes, and what ran beside it each time is not', async () => {
  const { hub, workers, ledger } = await setScene(['poison', 'buried']);
  const fleet = await startFleet(2, workers('poison'));
  onTestFinished(() => fleet.stop());
  const neighbours = 60;
  const emitNeighbours = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, () => hub.emit('poison', { deadly: false })));
  // More than two workers run at once: wherever the deadly one runs, it runs among others.
  await emitNeighbours(neighbours / 2);
  const { id } = await hub.emit('poison', { deadly: true });
  await emitNeighbours(neighbours / 2);
  await until('all have ended', async () => (await hub.metrics('poison')).pending === 0, 60_000);
  expect(await hub.failures('poison')).toMatchObject([{ id, name: 'CrashLoopError' }]);
  const { completed, failed } = await hub.metrics('poison');
  expect({ completed, failed }).toEqual({ completed: neighbours, failed: 1 });
  expect(ledger().filter(({ what }) => what === 'start deadly')).toHaveLength(3);
  await until('what follows a failure followed', () => ledger().some(({ what }) => what === 'buried'));
});

it('a deploy that drops a type: its events wait for a process that handles it again', async () => {
  const { hub, workers, ledger } = await setScene(['work', 'settled', 'long']);
  const before = await startWorker(workers('work'));
  before.kill('SIGKILL');
  await before.ended;
  const events = 30;
  await Promise.all(Array.from({ length: events }, (_, i) => hub.emit('work', { n: i + 2 })));
  const without = await startWorker(workers('long'));
  onTestFinished(() => without.kill('SIGKILL'));
  // It comes after them in the queue that they share.
  await hub.emit('long', null);
  await until('the worker has passed them all', () => ledger().length === 1);
  expect(await hub.metrics('work')).toMatchObject({ received: events, pending: events });
  const again = await startWorker(workers('work'));
  onTestFinished(() => again.kill('SIGKILL'));
  await until('all have ended', async () => (await hub.metrics('settled')).completed === events);
  expect(await hub.metrics('work')).toMatchObject({ received: events, completed: events, pending: 0 });
});

it('a deploy that changes a workflow: runs that were under way fail, and say so', async () => {
  const { hub, workers, ledger } = await setScene(['ordered', 'flow.ended']);
  const before = await startWorker({ ...workers('flow'), variant: 'slow' });
  onTestFinished(() => before.kill('SIGKILL'));
  await hub.emit('ordered', { n: 1 });
  await until('the third step has begun', () => ledger().some(({ what }) => what === 'start pack'));
  before.kill('SIGKILL');
  const after = await startWorker({ ...workers('flow'), variant: 'changed' });
  onTestFinished(() => after.kill('SIGKILL'));
  await until('the run ended', async () => (await hub.metrics('flow.ended')).completed === 1);
  expect(ledger().map(({ what }) => what)).not.toContain('start ship');
  const [runs] = await hub.transport.counts(['workflow\u001fflow']);
  expect(runs?.total).toMatchObject({ received: 1, failed: 1, pending: 0 });
  expect(await hub.transport.failures('workflow\u001fflow')).toMatchObject([{ name: 'WorkflowVersionError' }]);
});

it('clocks a minute apart: all that is due runs, none before its time', async () => {
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
