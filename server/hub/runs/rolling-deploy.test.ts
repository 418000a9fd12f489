import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { newStoreFile, redisUrl } from '../../testing/stores.fixture.js';
import { redisTransport } from '../../transports/redis/redis-transport.js';
import { sqliteTransport } from '../../transports/sqlite/sqlite-transport.js';
import type { Transport } from '../../transports/transport.js';
import { createEvent } from '../events/event.js';
import { type TestHub, testHub } from '../hub.fixture.js';
import { createWorkflow } from './workflow.js';

const paid = createEvent<string>({ type: 'paid', key: (id) => id });

/** Starts a process whose workflow `order` has a version. */
async function startProcess(transport: Transport, version: number): Promise<TestHub> {
  const test = testHub({ service: 'shop', transport });
  const order = createWorkflow({
    name: 'order',
    version,
    run: async ({ step, runId }) => {
      await step.run('reserve', () => {});
      await step.waitForEvent('paid', paid, { key: runId });
      await step.run('ship', () => {});
    },
  });
  test.hub.event(paid, {});
  test.hub.workflow(order);
  await test.hub.start();
  return test;
}

/** Returns the ids of the runs that processes released for a higher version, once per release. */
function releasesOf(...processes: readonly TestHub[]): readonly unknown[] {
  const lines = processes.flatMap(({ log }) => log);
  return lines.filter(({ message }) => message.startsWith('run released')).map(({ fields }) => fields['runId']);
}

async function metrics({ hub }: TestHub) {
  return (await hub.introspect()).workflows.find(({ name }) => name === 'order')?.metrics;
}

it('releases each run at most once, and resumes all of them beside older processes', async () => {
  const prefix = randomUUID();
  const start = (version: number) => startProcess(redisTransport({ url: redisUrl(), prefix }), version);
  const first = await start(2);
  const runIds: string[] = [];
  for (let n = 0; n < 24; n += 1) runIds.push((await first.hub.startWorkflow('order', null)).runId);
  await vi.waitFor(async () => expect(await metrics(first)).toMatchObject({ suspended: 24 }));
  const [one, two, three] = await Promise.all([start(1), start(1), start(1)]);
  await first.hub.stop();
  for (const id of runIds) await one.hub.emit(paid, id);
  const problem = { kind: 'awaiting-version', severity: 'warning', workflow: 'order', count: 24, version: 2 };
  await vi.waitFor(async () => expect((await two.hub.health()).problems).toEqual([problem]));
  const next = await start(2);
  await vi.waitFor(async () => expect(await metrics(next)).toMatchObject({ completed: 24, pending: 0 }));
  expect(releasesOf(one, two, three).toSorted()).toEqual(runIds.toSorted());
  expect((await next.hub.health()).problems).toEqual([]);
});

it('hands the runs of a newer process that comes and goes over to it alone', async () => {
  const prefix = randomUUID();
  const start = (version: number) => startProcess(redisTransport({ url: redisUrl(), prefix }), version);
  const old = await Promise.all([start(1), start(1)]);
  const next = await start(2);
  const runIds: string[] = [];
  for (let n = 0; n < 24; n += 1) runIds.push((await next.hub.startWorkflow('order', null)).runId);
  await vi.waitFor(async () => expect(await metrics(next)).toMatchObject({ suspended: 24 }));
  for (const id of runIds) await next.hub.emit(paid, id);
  await vi.waitFor(async () => expect(await metrics(next)).toMatchObject({ completed: 24 }));
  const released = releasesOf(...old);
  expect(new Set(released).size).toBe(released.length);
});

it('keeps the version that a run needs in a file', async () => {
  const file = newStoreFile();
  const restart = async (last: TestHub, version: number): Promise<TestHub> => {
    await last.hub.stop();
    return startProcess(sqliteTransport({ file }), version);
  };
  const first = await startProcess(sqliteTransport({ file }), 2);
  const { runId } = await first.hub.startWorkflow('order', null);
  await vi.waitFor(async () => expect(await metrics(first)).toMatchObject({ suspended: 1 }));
  const old = await restart(first, 1);
  await old.hub.emit(paid, runId);
  await vi.waitFor(() => expect(releasesOf(old)).toEqual([runId]));
  const older = await restart(old, 1);
  const waiting = { status: 'waiting', neededVersion: 2 };
  await vi.waitFor(async () => expect(await older.hub.getRun('order', runId)).toMatchObject(waiting));
  expect((await older.hub.health()).problems).toMatchObject([{ kind: 'awaiting-version', version: 2 }]);
  expect(releasesOf(older)).toEqual([]);
  const next = await restart(older, 2);
  await vi.waitFor(async () => expect(await metrics(next)).toMatchObject({ completed: 1 }));
});
