import { expect, it } from 'vitest';
import { createHub } from './create-hub.js';
import { createEvent } from './events/event.js';
import { deferred, testHub } from './hub.fixture.js';
import { defineWorkflow } from './runs/define-workflow.js';
import { createWorkflow } from './runs/workflow.js';

const imported = createEvent<{ shop: string; n: number }>({
  type: 'imported',
  key: ({ shop }) => shop,
  overlap: 'skip',
});

it('skips an event while another one of its key is pending, whoever emits it and how', async () => {
  const { hub, clock, transport } = testHub({ service: 'shop' });
  const web = createHub({ transport, service: 'web' });
  const [first, second] = [deferred(), deferred()];
  const gates = [first, second];
  const handled: number[] = [];
  hub.event(imported, {
    async handler({ payload: { shop, n } }) {
      handled.push(n);
      if (shop === 'a') await gates.shift()?.promise;
    },
  });
  hub.event({
    type: 'all',
    onSuccess: imported,
    async handler({ emit }) {
      await emit(imported, { shop: 'a', n: 3 });
      return { shop: 'a', n: 4 };
    },
  });
  web.event(imported);
  await hub.start();
  await web.start();
  const { id } = await web.emit(imported, { shop: 'a', n: 1 });
  await clock.settle();
  expect(await web.emit(imported, { shop: 'a', n: 2 })).toEqual({ id, deduplicated: true });
  expect(await hub.emit('imported', { shop: 'a', n: 2 })).toEqual({ id, deduplicated: true });
  expect(
    await hub.emitMany(imported, [
      { shop: 'a', n: 2 },
      { shop: 'b', n: 5 },
    ]),
  ).toMatchObject([{ id, deduplicated: true }, { deduplicated: false }]);
  await hub.emit('all', null);
  await clock.settle();
  expect(handled).toEqual([1, 5]);
  expect(await hub.metrics('imported')).toMatchObject({ received: 2, deduplicated: 5 });
  first.resolve();
  await clock.settle();
  expect(await web.emit(imported, { shop: 'a', n: 6 })).toMatchObject({ deduplicated: false });
  await clock.settle();
  expect(handled).toEqual([1, 5, 6]);
  second.resolve();
  await web.stop();
});

it('skips a due time of a schedule whose last event or run is pending', async () => {
  const { hub, clock } = testHub();
  const started: string[] = [];
  const sync = createWorkflow(defineWorkflow({ name: 'sync', key: () => 'all', overlap: 'skip' }), {
    run: async ({ runId, step }) => {
      started.push(runId);
      await step.sleep('long', 150_000);
    },
  });
  const handler = () => new Promise<void>((resolve) => clock.after(150_000, resolve));
  const tick = hub.event({ type: 'tick', key: () => 'all', overlap: 'skip', handler });
  hub.workflow(sync);
  hub.schedule({ name: 'ticking', everyMs: 60_000, emit: tick, payload: null });
  hub.schedule({ name: 'syncing', everyMs: 60_000, start: sync, payload: null });
  await hub.start();
  await clock.advance(360_000);
  for (const name of ['tick', 'workflow\u001fsync']) {
    const [counts] = await hub.transport.counts.get([name]);
    expect(counts?.total).toMatchObject({ received: 2, deduplicated: 4 });
  }
  expect(new Set(started).size).toBe(2);
});

it('returns the handle of the pending run, also of one that another service runs', async () => {
  const { hub: worker, clock, transport } = testHub({ service: 'worker' });
  const web = createHub({ transport, service: 'web' });
  const exported = defineWorkflow<{ account: string }, string>({
    name: 'export',
    service: 'worker',
    key: ({ account }) => account,
    overlap: 'skip',
  });
  worker.workflow(
    createWorkflow(exported, {
      run: async ({ runId, step }) => {
        await step.sleep('long', 1_000);
        return runId;
      },
    }),
  );
  await worker.start();
  await web.start();
  const runs = [];
  for (const account of ['a', 'a', 'b']) runs.push(await web.startWorkflow(exported, { account }));
  await clock.settle();
  runs.push(await worker.startWorkflow(exported, { account: 'a' }));
  const [first, second, third, fourth] = runs.map(({ runId }) => runId);
  expect([second, fourth]).toEqual([first, first]);
  expect(third).not.toBe(first);
  await clock.advance(1_000);
  expect(await Promise.all(runs.map((run) => run.result()))).toEqual([first, first, third, first]);
  expect((await web.startWorkflow(exported, { account: 'a' })).runId).not.toBe(first);
  await web.stop();
});

it('accepts child runs beside a pending run of their key', async () => {
  const { hub, clock } = testHub();
  const defined = defineWorkflow<null, string>({ name: 'child', key: () => 'all', overlap: 'skip' });
  const child = createWorkflow(defined, { run: ({ runId }) => runId });
  const parent = createWorkflow({
    name: 'parent',
    run: ({ step }) => Promise.all([step.invoke('one', child, null), step.invoke('two', child, null)]),
  });
  hub.workflow(child);
  hub.workflow(parent);
  await hub.start();
  const run = await hub.startWorkflow(parent, null);
  await clock.settle();
  expect(new Set(await run.result()).size).toBe(2);
});

it('replaces the event that runs: its signal aborts, and the newest one starts when it has returned', async () => {
  const { hub, clock, transport } = testHub({ service: 'shop' });
  const web = createHub({ transport, service: 'web' });
  const searched = createEvent<{ user: string; text: string }>({
    type: 'searched',
    key: ({ user }) => user,
    overlap: 'replace',
  });
  const returned = deferred();
  const log: string[] = [];
  hub.event(searched, {
    retry: { maxAttempts: 5 },
    onFailure: 'told',
    onComplete: 'told',
    async handler({ payload: { text }, signal }) {
      log.push(`starts ${text}`);
      if (text !== 'h') return;
      signal.addEventListener('abort', () => log.push(`${signal.reason.name} ${signal.reason.code}`));
      await returned.promise;
      throw new Error('nobody sees it');
    },
  });
  const told: unknown[] = [];
  hub.event({ type: 'told', handler: ({ payload }) => void told.push(payload) });
  await hub.start();
  await web.start();
  const { id } = await web.emit(searched, { user: 'ada', text: 'h' });
  await clock.settle();
  for (const text of ['hu', 'hub']) {
    expect(await web.emit(searched, { user: 'ada', text })).toMatchObject({ deduplicated: false });
  }
  await web.emit(searched, { user: 'bob', text: 'x' });
  await clock.settle();
  expect(log).toEqual(['starts h', 'CancelledError ERR_CANCELLED', 'starts x']);
  expect(await hub.find(id)).toMatchObject([{ status: 'cancelled' }]);
  expect(await hub.metrics('searched')).toMatchObject({ received: 4, cancelled: 2, pending: 1, deadLetters: 0 });
  returned.resolve();
  await clock.settle();
  expect(log.slice(3)).toEqual(['starts hub']);
  expect(told).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  await web.stop();
});

it('replaces a suspended run of another service, with its child runs, and the due time before of a schedule', async () => {
  const { hub: worker, clock, transport } = testHub({ service: 'worker' });
  const web = createHub({ transport, service: 'web' });
  const ended: unknown[] = [];
  const child = createWorkflow({
    name: 'child',
    run: ({ step }) => step.sleep('long', 7_200_000),
  });
  const synced = defineWorkflow<number, number>({
    name: 'sync',
    service: 'worker',
    key: () => 'all',
    overlap: 'replace',
  });
  worker.workflow(child);
  const sync = createWorkflow(synced, {
    run: async ({ input, step }) => {
      if (input === 0) await step.invoke('child', child, null);
      ended.push(input);
      return input;
    },
  });
  worker.workflow(sync);
  worker.schedule({ name: 'hourly', everyMs: 3_600_000, start: sync, payload: 2 });
  await worker.start();
  await web.start();
  const run = await web.startWorkflow(synced, 0);
  const lost = expect(run.result()).rejects.toThrow('a newer one of its key replaced it');
  await clock.settle();
  expect(await (await web.startWorkflow(synced, 1)).result()).toBe(1);
  await lost;
  const [counts] = await worker.transport.counts.get(['workflow\u001fchild']);
  expect(counts?.total).toMatchObject({ received: 1, cancelled: 1, pending: 0 });
  const last = expect((await web.startWorkflow(synced, 0)).result()).rejects.toThrow('replaced');
  await clock.advance(3_600_000);
  await last;
  expect(ended).toEqual([1, 2]);
  await web.stop();
});

it.each([
  ['queue', [1, 2, 3], {}],
  ['skip', [1], { deduplicated: 2 }],
  ['replace', [3], { cancelled: 2 }],
] as const)('of a schedule is its own: %s', async (overlap, expected, counted) => {
  const { hub, clock } = testHub();
  const definition = createEvent<number>({ type: 'tick', key: () => 'all', overlap: 'skip' });
  const done: number[] = [];
  const tick = hub.event(definition, {
    concurrencyPerKey: 1,
    async handler({ payload, signal }) {
      await new Promise<void>((resolve) => {
        const timer = clock.after(150_000, resolve);
        signal.addEventListener('abort', () => {
          timer.cancel();
          resolve();
        });
      });
      if (!signal.aborted) done.push(payload);
    },
  });
  const startedAt = Math.floor(clock.now() / 60_000);
  const payload = (at: Date): number => at.getTime() / 60_000 - startedAt;
  hub.schedule({ name: 'ticking', everyMs: 60_000, emit: tick, payload, overlap });
  await hub.start();
  await clock.advance(180_000);
  await hub.pause({ schedule: 'ticking' }, { reason: 'enough', by: 'test' });
  await clock.advance(600_000);
  expect(done).toEqual(expected);
  expect(await hub.metrics('tick')).toMatchObject({ pending: 0, ...counted });
});

it('of a schedule is refused if its target does not fit', async () => {
  const { hub } = testHub();
  const schedule = { everyMs: 60_000, payload: null };
  hub.event({ type: 'a', handler: () => {} });
  expect(() => hub.schedule({ name: 'x', emit: 'a', ...schedule, overlap: 'drop' as never })).toThrow(
    `overlap of schedule "x" must be 'queue', 'skip' or 'replace', got "drop"`,
  );
  hub.schedule({ name: 'x', emit: 'a', ...schedule, overlap: 'skip' });
  await expect(hub.start()).rejects.toThrow('key of event "a" must be set if overlap of schedule "x" is');
  const { hub: other } = testHub();
  other.event({ type: 'a', key: () => 'k', handler: () => {} });
  other.schedule({ name: 'x', emit: 'a', ...schedule, overlap: 'replace' });
  await expect(other.start()).rejects.toThrow(
    'concurrencyPerKey of event "a" must be 1 if overlap of schedule "x" is \'replace\', got undefined',
  );
});

it('refuses values that it does not know, and options that contradict it', () => {
  const { hub } = testHub();
  const key = () => 'k';
  const handler = () => {};
  const refused: [() => unknown, string][] = [
    [() => createEvent({ type: 'a', overlap: 'skip' }), 'key of event "a" must be set if overlap is'],
    [
      () => defineWorkflow({ name: 'a', overlap: 'queue' }),
      'key of the definition of workflow "a" must be set if overlap is',
    ],
    [
      () => createEvent({ type: 'a', key, overlap: 'drop' as never }),
      `overlap of event "a" must be 'queue', 'skip' or 'replace', got "drop"`,
    ],
    [
      () => hub.event({ type: 'a', key, overlap: 'skip', debounceMs: 5, handler }),
      'debounceMs of event "a" must be omitted, because overlap is \'skip\'',
    ],
    [
      () => hub.event({ type: 'a', key, overlap: 'replace', concurrencyPerKey: 2, handler }),
      'concurrencyPerKey of event "a" must be 1 or omitted, because overlap is \'replace\', got 2',
    ],
    [
      () =>
        createWorkflow(defineWorkflow({ name: 'a', key, overlap: 'replace' }), { concurrencyPerKey: 2, run: handler }),
      'concurrencyPerKey of workflow "a" must be 1 or omitted',
    ],
    [() => hub.event(imported, { overlap: 'queue', handler } as never), 'overlap'],
    [
      () => createWorkflow(defineWorkflow({ name: 'a', key }), { overlap: 'skip', run: handler } as never),
      'overlap of workflow "a" must be omitted, because it belongs to the definition',
    ],
  ];
  for (const [register, message] of refused) {
    expect(register).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }));
    expect(register).toThrow(message);
  }
});
