import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { InvalidOptionError } from '../../errors.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { StepFailedError } from '../errors.js';
import { createEvent } from '../events/event.js';
import { deferred, testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';
import { defineWorkflow } from './define-workflow.js';
import { createWorkflow } from './workflow.js';

const paid = createEvent({
  type: 'paid',
  schema: z.object({ orderId: z.string(), cents: z.number() }),
  key: ({ orderId }) => orderId,
});
const withdrawn = createEvent({
  type: 'withdrawn',
  schema: z.object({ orderId: z.string(), isFinal: z.boolean() }),
  key: ({ orderId }) => orderId,
});
const order = z.object({ id: z.string(), cents: z.number() });
const fulfil = defineWorkflow({
  name: 'fulfil',
  service: 'fulfilment',
  input: order,
  receives: [{ event: paid, key: ({ id }) => id }],
  cancelOn: [{ event: withdrawn, key: ({ id }) => id, when: ({ isFinal }) => isFinal }, { event: 'everything.stops' }],
});

describe.each(everyTransport)('the service of a run on the %s transport', (_name, createTransport) => {
  function newHub(options: HubOptions): Hub {
    const hub = createHub(options);
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  async function startWeb(transport: Transport): Promise<Hub> {
    const web = newHub({ service: 'web', transport });
    web.event({ type: 'everything.stops' });
    await web.start();
    return web;
  }

  const statusOf = async (hub: Hub, runId: string): Promise<string> =>
    (await hub.workflowHandle(fulfil, runId).status()).status;

  it('decides by when which event a wait takes, once per event', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const worker = newHub({ service: 'fulfilment', transport });
    const asked: number[] = [];
    worker.workflow(
      createWorkflow(fulfil, {
        run: async ({ input, step }) => {
          const full = await step.waitForEvent('full', paid, {
            key: input.id,
            when: ({ cents }) => {
              asked.push(cents);
              return cents === input.cents;
            },
          });
          await step.sleep('pause', 1);
          const other = await step.waitForEvent('other', paid, { key: input.id });
          return [full.cents, other.cents];
        },
      }),
    );
    const run = await web.startWorkflow(fulfil, { id: 'o-1', cents: 30 });
    await web.emit(paid, { orderId: 'o-1', cents: 10 });
    await worker.start();
    await web.emit(paid, { orderId: 'o-2', cents: 30 });
    await vi.waitFor(async () => expect(await statusOf(web, run.runId)).toBe('suspended'));
    expect(asked).toEqual([10]);
    await web.emit(paid, { orderId: 'o-1', cents: 30 });
    expect(await run.result()).toEqual([30, 10]);
    expect(asked).toEqual([10, 30]);
  });

  it('passes over what when refuses, also while other waits of the key are open', async () => {
    const worker = newHub({ service: 'fulfilment', transport: createTransport() });
    const even = createWorkflow({
      name: 'even',
      run: async ({ step }) => {
        const options = { key: 'o-1', timeoutMs: 3_600_000 };
        const first = step.waitForEvent('even', paid, { ...options, when: ({ cents }) => cents % 2 === 0 });
        const second = step.waitForEvent('large', paid, { ...options, when: ({ cents }) => cents > 10 });
        const [a, b] = await Promise.all([first, second]);
        return [a?.cents, b?.cents];
      },
    });
    worker.workflow(even);
    await worker.start();
    const run = await worker.startWorkflow(even, {});
    await vi.waitFor(async () => expect((await run.status()).status).toBe('suspended'));
    for (const cents of [1, 11, 2]) await worker.emit(paid, { orderId: 'o-1', cents });
    expect(await run.result()).toEqual([2, 11]);
  });

  it('fails the step whose when throws', async () => {
    const worker = newHub({ service: 'fulfilment', transport: createTransport() });
    const strict = createWorkflow({
      name: 'strict',
      run: async ({ step }) => {
        const wait = step.waitForEvent('reply', paid, {
          when: () => {
            throw new Error('unreadable');
          },
        });
        return wait.catch((error: unknown) => (StepFailedError.is(error) ? [error.step, error.failure.message] : []));
      },
    });
    worker.workflow(strict);
    await worker.start();
    const run = await worker.startWorkflow(strict, {});
    await vi.waitFor(async () => expect((await run.status()).status).toBe('suspended'));
    await worker.emit(paid, { orderId: 'o-1', cents: 1 });
    expect(await run.result()).toEqual(['reply', 'unreadable']);
  });

  it('cancels a run that runs, is suspended or waits for its start, with its children, exactly once', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const worker = newHub({ service: 'fulfilment', transport, concurrency: 1 });
    const [busy, failures, aborted]: [ReturnType<typeof deferred<void>>, unknown[], unknown[]] = [deferred(), [], []];
    worker.event<{ payload: { id: string } }>({
      type: 'fulfil.failed',
      handler: ({ payload }) => failures.push(payload.payload.id),
    });
    const child = worker.workflow(createWorkflow({ name: 'child', run: ({ step }) => step.sleep('long', 3_600_000) }));
    worker.workflow(
      createWorkflow(fulfil, {
        onFailure: 'fulfil.failed',
        run: async ({ input, step, signal }) => {
          if (input.id === 'suspended') await step.invoke('child', child, {});
          signal.addEventListener('abort', () => aborted.push(input.id));
          await step.run('work', () => busy.promise);
          return input.id;
        },
      }),
    );
    await worker.start();
    const start = (id: string) => web.startWorkflow(fulfil, { id, cents: 0 });
    const suspended = await start('suspended');
    await vi.waitFor(async () => expect(await statusOf(web, suspended.runId)).toBe('suspended'));
    const running = await start('running');
    await vi.waitFor(async () => expect(await statusOf(web, running.runId)).toBe('active'));
    const [waiting, unharmed] = [await start('waiting'), await start('unharmed')];

    for (const id of ['waiting', 'running', 'suspended', 'unharmed']) {
      await web.emit(withdrawn, { orderId: id, isFinal: false });
      if (id !== 'unharmed') await web.emitMany(withdrawn, Array(2).fill({ orderId: id, isFinal: true }));
    }
    await vi.waitFor(() => expect(aborted).toEqual(['running']));
    busy.resolve();
    for (const run of [running, waiting, suspended]) {
      const failure = { name: 'WorkflowCancelledError', message: expect.stringContaining('"withdrawn"') };
      await expect(run.result()).rejects.toMatchObject({ failure });
    }
    expect(await unharmed.result()).toBe('unharmed');
    await vi.waitFor(() => expect(failures.sort()).toEqual(['running', 'suspended', 'waiting']));
    expect(await worker.metrics('fulfil.failed')).toMatchObject({ received: 3 });
    const [childRun] = (await worker.introspect()).workflows.find(({ name }) => name === 'child')?.runs ?? [];
    expect(childRun?.status).toBe('failed');
  });

  it('decides about all reasons to cancel before the function of a run starts', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const worker = newHub({ service: 'fulfilment', transport });
    const started: string[] = [];
    worker.workflow(createWorkflow(fulfil, { run: ({ input }) => started.push(input.id) }));
    const runs = await Promise.all(['cancelled', 'unharmed'].map((id) => web.startWorkflow(fulfil, { id, cents: 0 })));
    for (const id of ['cancelled', 'unharmed']) {
      const isFinal = id === 'cancelled';
      await web.emitMany(
        withdrawn,
        [false, false, false, isFinal].map((each) => ({ orderId: id, isFinal: each })),
      );
    }
    await worker.start();
    const ends = await Promise.allSettled(runs.map((run) => run.result()));
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(started).toEqual(['unharmed']);
  });

  it('cancels a run at once that is delayed', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const worker = newHub({ service: 'fulfilment', transport });
    let calls = 0;
    worker.workflow(
      createWorkflow(fulfil, {
        run: () => {
          calls += 1;
        },
      }),
    );
    await worker.start();
    const run = await web.startWorkflow(fulfil, { id: 'o-1', cents: 1 }, { delayMs: 3_600_000 });
    await web.emit('everything.stops', null);
    await expect(run.result()).rejects.toMatchObject({ failure: { name: 'WorkflowCancelledError' } });
    expect(calls).toBe(0);
  });

  it('cancels a run that is paused and not active after the resume, before the function is called', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const worker = newHub({ service: 'fulfilment', transport });
    const called: string[] = [];
    worker.workflow(
      createWorkflow(fulfil, {
        run: async ({ input, step }) => {
          called.push(input.id);
          await step.waitForEvent('paid', paid, { key: input.id });
        },
      }),
    );
    await worker.start();
    const suspended = await web.startWorkflow(fulfil, { id: 'suspended', cents: 1 });
    await vi.waitFor(async () => expect(await statusOf(web, suspended.runId)).toBe('suspended'), 5_000);
    await worker.pause({ workflow: 'fulfil' }, { reason: 'a test', by: 'test' });
    const waiting = await web.startWorkflow(fulfil, { id: 'waiting', cents: 1 });
    for (const orderId of ['suspended', 'waiting']) await web.emit(withdrawn, { orderId, isFinal: true });
    for (const { runId } of [suspended, waiting]) {
      await vi.waitFor(async () => expect(await statusOf(web, runId)).toBe('waiting'), 5_000);
    }
    expect((await worker.introspect()).workflows.find(({ name }) => name === 'fulfil')).toMatchObject({
      metrics: { pending: 2, active: 0, suspended: 0, failed: 0 },
    });
    await worker.resume({ workflow: 'fulfil' }, { by: 'test' });
    for (const run of [suspended, waiting]) {
      await expect(run.result()).rejects.toThrow('cancelled: the event "withdrawn"');
    }
    expect(called).toEqual(['suspended']);
  });

  it('cancels all runs by an event without a key and a when', async () => {
    const transport = createTransport();
    const web = await startWeb(transport);
    const runs = [
      await web.startWorkflow(fulfil, { id: 'a', cents: 0 }),
      await web.startWorkflow(fulfil, { id: 'b', cents: 0 }),
    ];
    await web.emit('everything.stops', null);
    const worker = newHub({ service: 'fulfilment', transport });
    const called: string[] = [];
    worker.workflow(createWorkflow(fulfil, { run: ({ input }) => called.push(input.id) }));
    await worker.start();
    for (const run of runs) await expect(run.result()).rejects.toThrow('everything.stops');
    expect(called).toEqual([]);
  });
});

it('a when of cancelOn that throws is logged, and does not cancel the run', async () => {
  const { hub, log, clock } = testHub();
  const stubborn = defineWorkflow({
    name: 'stubborn',
    cancelOn: [
      {
        event: withdrawn,
        when: () => {
          throw new Error('unreadable');
        },
      },
    ],
  });
  hub.workflow(createWorkflow(stubborn, { run: ({ step }) => step.sleep('long', 1_000) }));
  await hub.start();
  const run = await hub.startWorkflow(stubborn, {});
  await hub.emit(withdrawn, { orderId: 'secret-7', isFinal: true });
  await clock.settle();
  expect(log.filter(({ level }) => level === 'error')).toMatchObject([
    { fields: { workflow: 'stubborn', runId: run.runId, eventType: 'withdrawn' } },
  ]);
  expect(JSON.stringify(log)).not.toContain('secret-7');
  await clock.advance(2_000);
  expect(await run.result()).toBeNull();
});

it('a when that returns no boolean fails its step', async () => {
  const { hub, clock } = testHub();
  // A caller without types.
  const when = (() => 'yes') as unknown as () => boolean;
  const loose = createWorkflow({ name: 'loose', run: ({ step }) => step.waitForEvent('reply', paid, { when }) });
  hub.workflow(loose);
  await hub.start();
  const run = await hub.startWorkflow(loose, {});
  await clock.settle();
  await hub.emit(paid, { orderId: 'o-1', cents: 1 });
  await expect(run.result()).rejects.toMatchObject({ failure: { name: InvalidOptionError.name } });
});

it.each<[unknown, string]>([
  [[], 'a list of 1 to 10 events'],
  [[{}], 'cancelOn.event'],
  [[{ event: 'a', key: 'b' }], 'key'],
  [[{ event: 'a', when: true }], 'when'],
  [[{ event: 'a' }, { event: 'a' }], 'without two events of a type'],
])('defineWorkflow refuses cancelOn %j', (cancelOn, message) => {
  expect(() => defineWorkflow({ name: 'a', cancelOn: cancelOn as never })).toThrow(message);
});
