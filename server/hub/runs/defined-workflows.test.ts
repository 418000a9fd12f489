import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { InvalidOptionError } from '../../errors.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { sqliteObserver } from '../../transports/sqlite/sqlite-observer.js';
import { sqliteTransport } from '../../transports/sqlite/sqlite-transport.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { SchemaValidationError, UnknownRunError, UnknownWorkflowError, WorkflowFailedError } from '../errors.js';
import { createEvent } from '../events/event.js';
import { deferred, testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';
import { defineWorkflow } from './define-workflow.js';
import type { RunEvent } from './watch-run.js';
import { createWorkflow } from './workflow.js';

const fulfil = defineWorkflow({
  name: 'fulfil',
  service: 'fulfilment',
  input: z.object({ orderId: z.string(), customer: z.string().default('anonymous') }),
  output: z.object({ tracking: z.string(), boxes: z.number().default(1) }),
  key: ({ customer }) => customer,
});
const unnamed = defineWorkflow<{ n: number }, { doubled: number }>({ name: 'double' });

function newHub(options: HubOptions): Hub {
  const hub = createHub(options);
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return hub;
}

/** Starts a hub of the service that runs the workflows. */
async function startWorker(transport: Transport): Promise<Hub> {
  const hub = newHub({ service: 'fulfilment', transport });
  hub.event({ type: 'fulfilment.cancelled' });
  hub.workflow(
    createWorkflow(fulfil, {
      onFailure: 'fulfilment.cancelled',
      concurrencyPerKey: 1,
      run: async ({ input, step }) => {
        await step.run('pick', () => input.customer);
        if (input.orderId === 'patient') await step.sleep('wait', 3_600_000);
        return { tracking: `t-${input.orderId}` };
      },
    }),
  );
  hub.workflow(createWorkflow(unnamed, { run: ({ input }) => ({ doubled: 2 * input.n }) }));
  await hub.start();
  return hub;
}

async function startWeb(transport: Transport): Promise<Hub> {
  const web = newHub({ service: 'web', transport });
  await web.start();
  return web;
}

async function collect(events: AsyncIterable<RunEvent>): Promise<string[]> {
  const found: string[] = [];
  for await (const event of events) found.push(event.type === 'step' ? event.step.name : event.run.status);
  return found;
}

describe.each(everyTransport)('a defined workflow on the %s transport', (_name, createTransport) => {
  it('is started, read, watched and awaited by a hub that registers nothing', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    await startWorker(transport);
    const run = await web.startWorkflow(fulfil, { orderId: 'o-1' });
    const watched = collect(web.watch(run.runId));
    expect(await run.result()).toEqual({ tracking: 't-o-1', boxes: 1 });
    expect(await watched).toEqual(['pick', 'completed']);
    expect(await run.status()).toMatchObject({ status: 'completed', service: 'fulfilment', steps: [{ name: 'pick' }] });
    const read = await web.getRun(fulfil, run.runId, { outputs: true });
    expect(read.steps).toMatchObject([{ name: 'pick', status: 'completed', output: 'anonymous' }]);
    expect(await web.find(run.runId)).toHaveLength(1);
  });

  it('is kept for its service, which starts later', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const run = await web.startWorkflow(fulfil, { orderId: 'early' });
    expect(await run.status()).toMatchObject({ status: 'waiting', service: 'fulfilment', steps: [] });
    const result = run.result();
    await startWorker(transport);
    expect(await result).toMatchObject({ tracking: 't-early' });
  });

  it('is awaited and cancelled by another hub, with the id of the run alone', async () => {
    const transport = createTransport();
    const worker = await startWorker(transport);
    const first = await startWeb(transport);
    const { runId } = await first.startWorkflow(fulfil, { orderId: 'patient' });
    await vi.waitFor(async () => expect((await first.getRun(fulfil, runId)).status).toBe('suspended'));
    await first.stop();
    const second = newHub({ service: 'other-web', transport });
    await second.start();
    const run = second.workflowHandle(fulfil, runId);
    const ended = expect(run.result()).rejects.toThrow('was cancelled: no longer wanted');
    expect(await collect(second.watch(runId, { signal: AbortSignal.timeout(100) })).catch(() => 'open')).toBe('open');
    expect(await run.cancel('no longer wanted')).toBe(true);
    await ended;
    expect(await run.cancel()).toBe(false);
    // The follow-ups are those that the service registered.
    expect((await worker.metrics('fulfilment.cancelled')).received).toBe(1);
  });

  it('belongs to the service that registered it if it names none', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    await startWorker(transport);
    const run = await web.startWorkflow(unnamed, { n: 21 });
    expect(await run.result()).toEqual({ doubled: 42 });
    expect(await web.workflowHandle(unnamed, run.runId).result()).toEqual({ doubled: 42 });
    expect((await web.getRun(unnamed, run.runId)).service).toBe('fulfilment');
  });

  it('starts with the outcome of a handler of another service', async () => {
    const transport = createTransport();
    await startWorker(transport);
    const web = newHub({ service: 'web', transport });
    const started = deferred<string>();
    web.event({
      type: 'ordered',
      handler: async (ctx) => {
        const { runId } = await ctx.startWorkflow(fulfil, { orderId: 'o-2' });
        await ctx.startWorkflow(unnamed, { n: 1 });
        started.resolve(runId);
      },
    });
    await web.start();
    await web.emit('ordered', {});
    const run = web.workflowHandle(fulfil, await started.promise);
    await vi.waitFor(async () => expect(await run.result()).toMatchObject({ tracking: 't-o-2' }));
  });

  it('names the service and the living processes in errors', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const unknownRun = (): Promise<unknown> => web.workflowHandle(fulfil, 'no-run').result();
    await expect(unknownRun()).rejects.toThrow('service "fulfilment" runs it, and none of its processes is alive');
    await expect(web.startWorkflow(unnamed, { n: 1 })).rejects.toThrow('no service has registered it');
    await expect(web.startWorkflow('double', { n: 1 })).rejects.toThrow(UnknownWorkflowError);
    expect((await web.introspect()).totals.metrics.received).toBe(0);
    await startWorker(transport);
    await expect(unknownRun()).rejects.toThrow('service "fulfilment" runs it, and 1 of its processes are alive');
    await expect(web.getRun(fulfil, 'no-run')).rejects.toThrow(UnknownRunError);
    await expect(web.startWorkflow('double', { n: 1 })).rejects.toThrow(
      'service "fulfilment" runs it, and 1 of its processes are alive: pass its definition',
    );
  });

  it('validates the input where the run is started, and the result where it runs', async () => {
    const transport = createTransport();
    const strict = defineWorkflow({ name: 'strict', service: 'fulfilment', output: z.object({ n: z.number() }) });
    const worker = newHub({ service: 'fulfilment', transport });
    worker.workflow(createWorkflow(strict, { run: ({ input }) => input as { n: number } }));
    await worker.start();
    const web = await startWeb(transport);
    // @ts-expect-error the schema wants a string
    await expect(web.startWorkflow(fulfil, { orderId: 1 })).rejects.toThrow(SchemaValidationError);
    const run = await web.startWorkflow(strict, { n: 'one' });
    const failed = await run.result().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(WorkflowFailedError);
    expect(failed).toMatchObject({ failure: { code: 'ERR_SCHEMA_VALIDATION' } });
    expect(await (await web.startWorkflow(strict, { n: 1, other: 2 })).result()).toEqual({ n: 1 });
  });

  it('receives what comes before it waits, from its acceptance on, in order', async () => {
    const transport = createTransport();
    const paid = createEvent<{ orderId: string; n: number }>({ type: 'paid', key: ({ orderId }) => orderId });
    const receiving = defineWorkflow<{ orderId: string }, number[]>({
      name: 'receiving',
      service: 'fulfilment',
      receives: [
        { event: paid, key: ({ orderId }) => orderId },
        { event: 'other', key: () => undefined },
      ],
    });
    const web = await startWeb(transport);
    const run = await web.startWorkflow(receiving, { orderId: 'o-1' });
    await web.emitMany(paid, [
      { orderId: 'o-2', n: 0 },
      { orderId: 'o-1', n: 1 },
      { orderId: 'o-1', n: 2 },
    ]);
    expect((await run.status()).inbox).toEqual({ kept: 2, dropped: 0 });
    const worker = newHub({ service: 'fulfilment', transport });
    worker.workflow(
      createWorkflow(receiving, {
        run: async ({ input, step }) => {
          const wait = (name: string): Promise<{ n: number }> => step.waitForEvent(name, paid, { key: input.orderId });
          // Emitted before its wait begins.
          await step.emit('charge', paid, { orderId: input.orderId, n: 3 });
          const first = await wait('first');
          const rest = await Promise.all([wait('second'), wait('third')]);
          await step.sleep('pause', 20);
          const last = await wait('last');
          return [first, ...rest, last].map(({ n }) => n);
        },
      }),
    );
    await worker.start();
    const lastStep = async (): Promise<unknown> => (await run.status()).steps.at(-1);
    await vi.waitFor(async () => expect(await lastStep()).toMatchObject({ name: 'last', status: 'waiting' }));
    await web.emit(paid, { orderId: 'o-1', n: 4 });
    expect(await run.result()).toEqual([1, 2, 3, 4]);
    expect((await run.status()).inbox).toBeUndefined();
  });

  it('emits events of a definition that no hub registers', async () => {
    const transport = createTransport();
    const paid = createEvent<{ orderId: string }>({ type: 'paid', key: ({ orderId }) => orderId });
    const worker = newHub({ service: 'fulfilment', transport });
    const waiting = createWorkflow({
      name: 'waiting',
      run: async ({ step }) => step.waitForEvent('paid', paid, { key: 'o-1' }),
    });
    worker.workflow(waiting);
    await worker.start();
    const run = await worker.startWorkflow(waiting, {});
    await vi.waitFor(async () => expect((await run.status()).status).toBe('suspended'));
    const web = await startWeb(transport);
    await web.emit(paid, { orderId: 'o-2' });
    await web.emitMany(paid, [{ orderId: 'o-1' }]);
    expect(await run.result()).toEqual({ orderId: 'o-1' });
  });
});

it('is started and awaited by a process that only observes the file', async () => {
  const file = join(tmpdir(), `hubline-${randomUUID()}.db`);
  onTestFinished(() => rm(file, { force: true }));
  await startWorker(sqliteTransport({ file }));
  const web = await startWeb(sqliteObserver({ file }));
  const run = await web.startWorkflow(fulfil, { orderId: 'o-1' });
  expect(await run.result()).toEqual({ tracking: 't-o-1', boxes: 1 });
  const patient = await web.startWorkflow(fulfil, { orderId: 'patient' });
  expect(await patient.cancel()).toBe(true);
  expect((await patient.status()).status).toBe('failed');
});

it('keeps the runs of a service that has yet to start after a restart', async () => {
  const file = join(tmpdir(), `hubline-${randomUUID()}.db`);
  onTestFinished(() => rm(file, { force: true }));
  const web = await startWeb(sqliteTransport({ file }));
  const { runId } = await web.startWorkflow(fulfil, { orderId: 'early' });
  await web.stop();
  const again = await startWeb(sqliteTransport({ file }));
  expect(await again.workflowHandle(fulfil, runId).status()).toMatchObject({ status: 'waiting' });
  await again.stop();
  const worker = await startWorker(sqliteTransport({ file }));
  expect(await worker.workflowHandle(fulfil, runId).result()).toMatchObject({ tracking: 't-early' });
});

it('runs in one service, although another one registers a workflow of its name', async () => {
  const transport = memoryTransport();
  await startWorker(transport);
  const { hub } = testHub({ service: 'other', transport });
  hub.workflow(createWorkflow({ name: 'fulfil', run: () => 'wrong' }));
  hub.workflow(createWorkflow({ name: 'double', run: () => 'own' }));
  await hub.start();
  expect(await (await hub.startWorkflow(fulfil, { orderId: 'o-1' })).result()).toMatchObject({ tracking: 't-o-1' });
  expect(await (await hub.startWorkflow(unnamed, { n: 1 })).result()).toBe('own');
  const web = await startWeb(transport);
  await expect(web.startWorkflow(unnamed, { n: 1 })).rejects.toThrow('several services run it: "fulfilment", "other"');
});

it('is not registered by another service', () => {
  const { hub } = testHub({ service: 'web' });
  const workflow = createWorkflow(fulfil, { run: () => ({ tracking: '' }) });
  expect(() => hub.workflow(workflow)).toThrow(
    'service of createHub must be "fulfilment", which runs workflow "fulfil"',
  );
});

it('with received events has no trigger', () => {
  const definition = defineWorkflow({ name: 'w', receives: [{ event: 'paid', key: () => 'a' }] });
  expect(() => createWorkflow(definition, { trigger: 'ordered', run: () => 1 })).toThrow(
    'trigger of workflow "w" must be omitted, because the definition has receives',
  );
});

it('is not started with an invalid key of its received events', async () => {
  const definition = defineWorkflow({ name: 'w', service: 's', receives: [{ event: 'paid', key: () => '' }] });
  const web = await startWeb(memoryTransport());
  await expect(web.startWorkflow(definition, {})).rejects.toThrow('key of "w" is not valid');
});

it.each(['name', 'service', 'input', 'output', 'key', 'receives', 'retain', 'description'])(
  'refuses %s in its settings',
  (option) => {
    const settings = { run: () => ({ tracking: '' }), [option]: {} };
    expect(() => createWorkflow(fulfil, settings)).toThrow(InvalidOptionError);
    expect(() => createWorkflow(fulfil, settings)).toThrow('because it belongs to the definition');
  },
);

it.each([
  [{ name: '' }, 'name of defineWorkflow'],
  [{ name: 'w', service: '' }, 'service of the definition of workflow "w"'],
  [{ name: 'w', key: 'id' }, 'key of the definition of workflow "w"'],
  [{ name: 'w', trigger: 'a' }, 'option of the definition of workflow "w"'],
  [{ name: 'w', input: 1 }, 'schema of the definition of workflow "w"'],
  [{ name: 'w', receives: [] }, 'receives of the definition of workflow "w"'],
  [{ name: 'w', receives: [{ event: 'a' }] }, 'receives.key of the definition of workflow "w"'],
  [{ name: 'w', receives: [{ key: () => 'a' }] }, 'receives.event of the definition of workflow "w"'],
  [{ name: 'w', retain: { completed: -1 } }, 'retain.completed of the definition of workflow "w"'],
  [undefined, 'name of defineWorkflow'],
])('checks the options of the definition %j', (options, subject) => {
  expect(() => defineWorkflow(options as never)).toThrow(subject);
});

it('computes the key where the run is started, and stores it with the run', async () => {
  const transport = memoryTransport();
  const web = await startWeb(transport);
  const { runId } = await web.startWorkflow(fulfil, { orderId: 'o-1', customer: 'ada' });
  const stored = await web.transport.runs.get('workflow\u001ffulfil', runId, 'fulfilment');
  expect(stored?.envelope.key).toBe('ada');
});

it('a run that drops events is logged once per minute, with the number and without a payload', async () => {
  const { hub, log, clock } = testHub();
  const paid = hub.event<{ orderId: string; text: string }>({ type: 'paid', key: ({ orderId }) => orderId });
  const receiving = defineWorkflow<{ orderId: string }>({
    name: 'receiving',
    receives: [{ event: paid, key: ({ orderId }) => orderId }],
  });
  hub.workflow(createWorkflow(receiving, { run: ({ step }) => step.sleep('long', 3_600_000) }));
  await hub.start();
  const run = await hub.startWorkflow(receiving, { orderId: 'o-1' });
  const text = 'secret-7'.repeat(50_000);
  const send = (count: number): Promise<unknown> => hub.emitMany(paid, Array(count).fill({ orderId: 'o-1', text }));
  await send(5);
  const warned = (): unknown[] => log.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
  const line = (dropped: number): unknown =>
    expect.objectContaining({ workflow: 'receiving', runId: run.runId, eventType: 'paid', dropped });
  expect(warned()).toEqual([line(1)]);
  await clock.advance(59_000);
  await send(1);
  expect(warned()).toEqual([line(1)]);
  await clock.advance(1_000);
  await send(2);
  expect(warned()).toEqual([line(1), line(5)]);
  expect((await run.status()).inbox).toEqual({ kept: 2, dropped: 6 });
  expect(JSON.stringify(log)).not.toContain('secret-7');
});
