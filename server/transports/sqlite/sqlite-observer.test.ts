import { renameSync, rmSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { type Clock, systemClock } from '../clock.js';
import { workflowType } from '../delivery.js';
import { silentLogger, type TransportManager } from '../transport.js';
import { migrations } from './database/schema.js';
import { sqliteObserver } from './sqlite-observer.js';
import { type SqliteTransport, sqliteTransport } from './sqlite-transport.js';
import { newFile, openBeside } from './stage.fixture.js';

const run = workflowType('rest');
const types = ['order', 'mail', 'mail.failed', 'later', run];

interface Owner {
  readonly hub: Hub;
  readonly transport: SqliteTransport;
}

function until(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 });
}

/** Starts a hub that owns a file. */
async function startOwner(file: string, isBroken: boolean, clock: Clock = systemClock): Promise<Owner> {
  const transport = sqliteTransport({ file, synchronous: 'normal', clock });
  const hub = createHub({ service: 'shop', transport, logger: silentLogger });
  hub.event({ type: 'order', handler: ({ emit }) => emit('mail', { to: 'private' }) });
  hub.event({
    type: 'mail',
    onFailure: 'mail.failed',
    handler: () => {
      if (isBroken) throw new Error('no mail');
    },
  });
  hub.event({ type: 'mail.failed', handler: () => {} });
  hub.event({ type: 'later', onFailure: 'mail.failed', handler: () => {} });
  hub.workflow(createWorkflow({ name: 'rest', run: ({ step }) => step.sleep('long', 600_000) }));
  await hub.start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return { hub, transport };
}

/** Starts a hub with a dead letter, a delayed event, a run that sleeps, and key-values. */
async function startShop(file: string, clock?: Clock) {
  const owner = await startOwner(file, true, clock);
  const { hub } = owner;
  await hub.emit('order', {}, { requestId: 'first' });
  const { id: delayed } = await hub.emit('later', { n: 1 }, { delayMs: 600_000 });
  const { runId: sleeping } = await hub.startWorkflow('rest', {});
  await until(async () => expect((await hub.transport.runs.get(run, sleeping))?.status).toBe('suspended'));
  await until(async () => expect(await hub.metrics('mail.failed')).toMatchObject({ completed: 1 }));
  await hub.transport.kv.set('k', 'v');
  await hub.transport.kv.append('list', ['a', 'b']);
  const [letter] = await hub.deadLetters('mail');
  return { ...owner, delayed, sleeping, dead: letter?.id ?? '' };
}

async function observe(file: string, clock: Clock = systemClock): Promise<Hub> {
  const transport = sqliteObserver({ file, clock, timeoutMs: 120_000 });
  const hub = createHub({ service: 'shop', observer: true, transport, logger: silentLogger });
  await hub.start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return hub;
}

/** Returns everything that a connection reads, except the descriptions of hubs, */
async function readAll(manager: TransportManager, ids: readonly string[]): Promise<object> {
  const { registered: _, ...overview } = await manager.lookup.overview({ types, runTypes: [run], runLimit: 5 });
  return {
    overview,
    counts: await manager.counts.get(types),
    perType: await Promise.all(
      types.map(async (type) => [
        await manager.counts.metrics(type),
        await manager.counts.failures(type),
        await manager.lookup.recent(type),
        await manager.deadLetters.list(type, 10),
      ]),
    ),
    found: await Promise.all(ids.map((id) => manager.lookup.find(id, { bodies: true }))),
    runs: await Promise.all(ids.map((id) => manager.runs.get(run, id))),
    waiting: await manager.runs.waiting([run], 5),
    since: await manager.runs.getSince(run, ids[0] ?? '', 0),
    request: await manager.lookup.request('first'),
    schedules: await manager.schedules.list(),
    range: (await manager.counts.range(types, 0, manager.clock.now())).counts,
    kv: [await manager.kv.get('k'), await manager.kv.range('list', 0, -1)],
  };
}

/** Returns the processes without what changes from one moment to the next. */
async function processesOf({ transport }: Hub): Promise<readonly object[]> {
  const processes = await transport.fleet.processes();
  return processes.map(({ description, state }) => {
    const { heapBytes: _, loopBusy: __, ...rest } = Object(JSON.parse(state));
    return { description, ...rest };
  });
}

it('reads what the owner of the file reads, and the same after its end', async () => {
  const file = newFile();
  // The histories of two reads differ if a minute ends in between.
  const clock = createFakeClock();
  const { hub, delayed, sleeping, dead } = await startShop(file, clock);
  const observer = await observe(file, clock);
  const ids = [sleeping, delayed, dead, 'unknown'];
  const own = await readAll(hub.transport, ids);
  expect(await readAll(observer.transport, ids)).toEqual(own);
  expect(await observer.transport.fleet.registered()).toEqual(await hub.transport.fleet.registered());
  expect(await processesOf(observer)).toEqual(await processesOf(hub));
  expect(await observer.transport.counts.revision()).toBe(await hub.transport.counts.revision());
  expect(await observer.transport.counts.revision('mail')).toBe(await hub.transport.counts.revision('mail'));
  const before = await observer.introspect();
  await hub.stop({ drainMs: 0 });
  expect(await readAll(observer.transport, ids)).toEqual(own);
  const after = await observer.introspect();
  for (const part of ['events', 'workflows'] as const) {
    expect(before[part]).not.toEqual([]);
    expect(before[part].map(({ processes }) => processes)).toEqual(before[part].map(() => 1));
    expect(after[part].map(({ processes }) => processes)).toEqual(before[part].map(() => 0));
    const shown = (all: typeof before) => all[part].map(({ processes: _, ...each }) => ({ ...each, services: [] }));
    expect(shown(after)).toEqual(shown(before));
  }
});

it('has one revision until a file without an owner changes, or a minute ends', async () => {
  const file = newFile();
  const clock = createFakeClock();
  const { hub, dead } = await startShop(file, clock);
  await hub.stop({ drainMs: 0 });
  const observer = await observe(file, clock);
  const revisions = async (): Promise<readonly string[]> =>
    Promise.all([observer.transport.counts.revision(), observer.transport.counts.revision('mail')]);
  const first = await revisions();
  await observer.introspect();
  expect(await revisions()).toEqual(first);
  expect(await observer.replay(dead)).toEqual({ id: dead });
  const second = await revisions();
  for (const [index, revision] of second.entries()) expect(revision).not.toBe(first[index]);
  expect(await observer.metrics('mail')).toMatchObject({ pending: 1 });
  expect(await revisions()).toEqual(second);
  const { hub: next } = await startOwner(file, false, clock);
  await until(async () => expect(await next.metrics('mail')).toMatchObject({ completed: 1 }));
  await next.stop({ drainMs: 0 });
  expect(await observer.metrics('mail')).toMatchObject({ completed: 1, pending: 0 });
  expect(await observer.metrics('later')).toMatchObject({ delayed: 1 });
  await clock.advance(600_000);
  expect(await observer.metrics('later')).toMatchObject({ delayed: 0, pending: 1 });
});

it.each([
  ['owns the file', true],
  ['has ended', false],
])('replays, cancels and erases while the process %s', async (_, isOwned) => {
  const file = newFile();
  const { hub, delayed, sleeping, dead } = await startShop(file);
  if (!isOwned) await hub.stop({ drainMs: 0 });
  const observer = await observe(file);
  expect(await observer.cancel(delayed)).toBe(true);
  expect(await observer.cancel(delayed)).toBe(false);
  expect(await observer.cancel(sleeping)).toBe(true);
  expect(await observer.find(sleeping)).toMatchObject([
    { status: 'cancelled', error: { name: 'WorkflowCancelledError' } },
  ]);
  expect(await observer.replay(dead)).toEqual({ id: dead });
  const next = isOwned ? hub : (await startOwner(file, true)).hub;
  await until(async () => expect(await next.metrics('mail.failed')).toMatchObject({ received: 3, completed: 3 }));
  expect(await next.metrics('mail')).toMatchObject({ received: 2, failed: 2, deadLetters: 1 });
  expect(await next.metrics('later')).toMatchObject({ received: 1, failed: 1, cancelled: 1, pending: 0 });
  await expect(observer.replay('unknown')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_DEAD_LETTER' });
  if (!isOwned) await next.stop({ drainMs: 0 });
  expect(await observer.erase({ requestId: 'first' })).toEqual({ deadLetters: 1, runs: 0, pending: 0 });
  expect(await observer.deadLetters('mail')).toEqual([]);
});

it.each([
  ['owns the file', true],
  ['has ended', false],
])('accepts events for the process that %s', async (_, isOwned) => {
  const file = newFile();
  const clock = createFakeClock();
  const { hub, sleeping } = await startShop(file, clock);
  const options = { requestId: 'second', dedupeId: 'once' };
  const earlier = await hub.emit('mail', { n: 1 }, options);
  if (!isOwned) await hub.stop({ drainMs: 0 });
  const beside = createHub({ service: 'desk', transport: sqliteObserver({ file, clock }), logger: silentLogger });
  onTestFinished(async () => {
    await beside.stop({ drainMs: 0 });
  });
  for (const type of ['mail', 'decided', 'unheard']) beside.event({ type });
  await beside.start();
  expect(await beside.emit('mail', { n: 2 }, options)).toEqual({ id: earlier.id, deduplicated: true });
  const { id } = await beside.emit('mail', { n: 3 }, { requestId: 'second' });
  const many = await beside.emitMany('mail', [{ n: 4 }, { n: 5 }], { requestId: 'second' });
  expect(await beside.emit('unheard', {})).toMatchObject({ unsubscribed: true });
  const next = isOwned ? hub : (await startOwner(file, true, clock)).hub;
  const sent = [id, ...many.map((each) => each.id)];
  await until(async () => {
    const { events } = await next.getRequest('second');
    const ended = events.filter(({ type, endedAt }) => type === 'mail' && endedAt !== undefined);
    expect(ended.map((event) => event.id).sort()).toEqual([earlier.id, ...sent].sort());
  });
  expect(await next.find(sleeping)).toMatchObject([{ status: 'suspended' }]);
  expect(await next.metrics('mail')).toMatchObject({ received: 5, deduplicated: 1 });
});

it.each([
  ['owns the file', true],
  ['has ended', false],
])('retires what a service no longer handles while the process %s', async (_, isOwned) => {
  const file = newFile();
  const former = await startShop(file);
  await former.hub.stop({ drainMs: 0 });
  const transport = sqliteTransport({ file, synchronous: 'normal' });
  const hub = createHub({ service: 'shop', transport, logger: silentLogger });
  hub.event({ type: 'order', handler: () => {} });
  hub.event({ type: 'mail', handler: () => {} });
  await hub.start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const observer = sqliteObserver({ file });
  await expect(observer.retire('shop')).rejects.toMatchObject({ code: 'ERR_SERVICE_RUNNING' });
  if (!isOwned) await hub.stop({ drainMs: 0 });
  await expect(observer.retire('web')).rejects.toMatchObject({ code: 'ERR_NOT_SUBSCRIBED' });
  const only = ['later', 'rest'];
  await expect(observer.retire('shop', { only })).rejects.toMatchObject({ pending: 2, deadLetters: 0 });
  expect(await observer.retire('shop', { only, discard: true })).toEqual({ events: 2, deadLetters: 0 });
  await expect(observer.retire('shop', { only })).rejects.toMatchObject({ code: 'ERR_NOT_SUBSCRIBED' });
  const reader = await observe(file);
  const [later, rest] = await reader.transport.counts.get(['later', run]);
  expect(later?.total).toMatchObject({ received: 1, failed: 1, pending: 0, delayed: 0 });
  expect(rest?.total).toMatchObject({ received: 1, failed: 1, pending: 0, suspended: 0 });
  expect(await reader.transport.counts.failures('later')).toMatchObject([{ name: 'RetiredError' }]);
  expect(await reader.find(former.sleeping)).toMatchObject([{ status: 'failed', error: { name: 'RetiredError' } }]);
  if (!isOwned) await expect(transport.retire('shop')).rejects.toMatchObject({ pending: 0, deadLetters: 1 });
});

it('waits for a run, and watches it', async () => {
  const file = newFile();
  const { hub, sleeping } = await startShop(file);
  const { transport } = await observe(file);
  let changes = 0;
  const stop = await transport.runs.watch(run, sleeping, () => {
    changes += 1;
  });
  const ended = transport.runs.ended(run, sleeping, new AbortController().signal);
  await expect(transport.runs.ended(run, sleeping, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  await hub.cancel(sleeping);
  expect(await ended).toMatchObject({ status: 'failed' });
  await until(() => expect(changes).toBeGreaterThan(0));
  stop();
  expect(await transport.runs.ended(run, 'unknown', new AbortController().signal)).toBeUndefined();
});

it('waits while another process writes for longer than SQLite does', async () => {
  const file = newFile();
  const { hub } = await startOwner(file, false);
  await hub.emit('later', {}, { delayMs: 600_000 });
  const observer = await observe(file);
  const beside = await openBeside(file);
  beside.exec('BEGIN IMMEDIATE');
  let tickAt = performance.now();
  const metrics = observer.metrics('later');
  // An attempt blocks the event loop for as long as SQLite waits.
  for (let blockedMs = 0; blockedMs < 90; tickAt += blockedMs) {
    await setImmediate();
    blockedMs = performance.now() - tickAt;
  }
  beside.exec('ROLLBACK');
  expect(await metrics).toMatchObject({ delayed: 1 });
});

it('rejects with a typed error if another process writes for longer than the time limit', async () => {
  const file = newFile();
  await startOwner(file, false);
  const { transport } = createHub({ observer: true, transport: sqliteObserver({ file, timeoutMs: 50 }) });
  const beside = await openBeside(file);
  beside.exec('BEGIN IMMEDIATE');
  await expect(transport.counts.metrics('later')).rejects.toMatchObject({
    code: 'ERR_TRANSPORT_UNAVAILABLE',
    message: expect.stringContaining('nothing was changed'),
  });
  beside.exec('ROLLBACK');
  await transport.close({ drainMs: 0 });
});

it('leaves no call in the file, and deletes those of callers that were killed', async () => {
  const file = newFile();
  const { hub } = await startOwner(file, false);
  const observer = await observe(file);
  const beside = await openBeside(file);
  beside.exec(
    "INSERT INTO calls (service, method, arguments, deadline) VALUES ('shop', 'counts', '[[]]', 1), ('shop', 'exit', '[]', 9e15)",
  );
  const rows = () => beside.prepare('SELECT method, answer FROM calls').all();
  await until(() => expect(rows()).toMatchObject([{ method: 'exit', answer: expect.stringContaining('TypeError') }]));
  await observer.metrics('order');
  expect(rows()).toHaveLength(1);
  await hub.stop({ drainMs: 0 });
  beside.exec(
    "UPDATE calls SET deadline = 1, answer = NULL; INSERT INTO calls (service, method, arguments, deadline, is_taken) VALUES ('shop', 'replay', '[\"a\"]', 9e15, 1)",
  );
  await startOwner(file, false);
  expect(rows()).toMatchObject([{ method: 'replay', answer: expect.stringContaining('ERR_TRANSPORT_UNAVAILABLE') }]);
});

it('sets, reads and removes schedules at run time, with an owner and without one', async () => {
  const file = newFile();
  const { hub: owner } = await startOwner(file, false);
  const hub = createHub({ service: 'web', transport: sqliteObserver({ file }), logger: silentLogger });
  hub.event({ type: 'order' });
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  const schedule = { name: 'polled', key: 'ada', everyMs: 3_600_000, emit: 'order', payload: {} };
  expect(await hub.schedules.set(schedule)).toBe(true);
  expect(await owner.schedules.set(schedule)).toBe(false);
  expect(await hub.schedules.get('polled', 'ada')).toEqual(await owner.schedules.get('polled', 'ada'));
  await owner.stop();
  expect(await hub.schedules.set(schedule)).toBe(false);
  expect(await hub.schedules.set({ ...schedule, key: 'bo' })).toBe(true);
  expect(await hub.schedules.remove('polled', 'ada')).toBe(true);
  const { hub: next } = await startOwner(file, false);
  expect((await next.schedules.list()).schedules.map(({ key }) => key)).toEqual(['bo']);
});

it('refuses what the owner alone does', async () => {
  const file = newFile();
  const { hub } = await startOwner(file, false);
  const { transport } = await observe(file);
  const due = { name: 's', definition: 'd', times: 't', dueAt: 0, events: [] };
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    'kv.set()': () => transport.kv.set('k', 'v'),
    'kv.compareAndSet()': () => transport.kv.compareAndSet('k', undefined, 'v'),
    'kv.delete()': () => transport.kv.delete('k'),
    'kv.increment()': () => transport.kv.increment('k'),
    'kv.append()': () => transport.kv.append('k', ['v']),
    'log.append()': () => transport.log.append('l', ['v'], { maxEntries: 1, maxBytes: 9, maxAgeMs: 9 }),
    'log.delete()': () => transport.log.delete('l'),
    'schedule()': () => transport.schedules.claim(due),
  };
  const checkRefused = async (): Promise<void> => {
    for (const [operation, write] of Object.entries(writes)) {
      const message = expect.stringContaining(`${operation} on a sqliteObserver`);
      await expect(write()).rejects.toMatchObject({ code: 'ERR_FILE_OBSERVER', message });
    }
  };
  await checkRefused();
  await hub.stop({ drainMs: 0 });
  await checkRefused();
  for (const config of [{ handler: () => {} }, { subscribers: ['shop'] }]) {
    const other = createHub({ transport: sqliteObserver({ file }), logger: silentLogger });
    other.event({ type: 'a', ...config });
    await expect(other.start()).rejects.toMatchObject({ code: 'ERR_FILE_OBSERVER' });
  }
});

it('refuses a file that it cannot read, and creates none', async () => {
  const missing = newFile();
  await expect(observe(missing)).rejects.toMatchObject({ code: 'ERR_FILE_ACCESS' });
  await expect(observe(missing)).rejects.toMatchObject({ code: 'ERR_FILE_ACCESS' });
  const foreign = newFile();
  (await openBeside(foreign)).exec('CREATE TABLE t (a)');
  await expect(observe(foreign)).rejects.toMatchObject({ code: 'ERR_CORRUPT_FILE' });
  const file = newFile();
  await (await startOwner(file, false)).hub.stop({ drainMs: 0 });
  const beside = await openBeside(file);
  beside.exec('PRAGMA user_version = 1');
  await expect(observe(file)).rejects.toMatchObject({ code: 'ERR_OLDER_FILE' });
  beside.exec(`PRAGMA user_version = ${migrations.length + 1}`);
  await expect(observe(file)).rejects.toMatchObject({ code: 'ERR_NEWER_FILE' });
});

it('reads a file that took the place of the former one', async () => {
  const [file, other] = [newFile(), newFile()];
  await (await startShop(file)).hub.stop({ drainMs: 0 });
  await (await startOwner(other, false)).hub.stop({ drainMs: 0 });
  const observer = await observe(file);
  expect(await observer.metrics('mail')).toMatchObject({ received: 1 });
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  renameSync(other, file);
  expect(await observer.metrics('mail')).toMatchObject({ received: 0 });
});
