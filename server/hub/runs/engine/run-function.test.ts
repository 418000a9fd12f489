import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SchemaValidationError, UnknownEventError, UnknownWorkflowError } from '../../errors.js';
import type { HandlerCtx } from '../../events/context.js';
import { deferred, type TestHub, testHub } from '../../hub.fixture.js';
import type { RunCtx } from '../definition/step.js';
import { createWorkflow, type HubWorkflow } from '../definition/workflow.js';
import { StepFailedError } from '../errors.js';
import type { WorkflowHandle } from '../workflow-handle.js';

const day = 86_400_000;

/** Starts a hub with a workflow of the function, and a run of it. */
async function startRun<TInput, TResult>(
  run: (ctx: RunCtx<TInput>) => TResult,
  input: TInput,
  register: (hub: TestHub['hub']) => void = () => {},
): Promise<TestHub & { handle: WorkflowHandle }> {
  const test = testHub();
  register(test.hub);
  const workflow: HubWorkflow<TInput> = createWorkflow({ name: 'w', run });
  test.hub.workflow(workflow);
  await test.hub.start();
  const handle = await test.hub.startWorkflow(workflow as HubWorkflow, input);
  await test.clock.settle();
  return { ...test, handle };
}

async function countsOf({ hub }: TestHub): Promise<object | undefined> {
  return (await hub.introspect()).workflows.find(({ name }) => name === 'w')?.metrics;
}

describe('step.run', () => {
  it('resolves with the recorded JSON of the result', async () => {
    const seen: unknown[] = [];
    const { handle } = await startRun(
      async ({ input, step }: RunCtx<{ n: number }>) => {
        seen.push(await step.run('date', () => ({ at: new Date(0), gone: undefined, n: input.n })));
        seen.push(await step.run('nothing', () => {}));
        return step.run('context', ({ step: id, runId, attempt, idempotencyKey }) => ({
          id,
          attempt,
          idempotencyKey: idempotencyKey.replace(runId, 'run'),
        }));
      },
      { n: 1 },
    );
    expect(await handle.result()).toEqual({ id: 'context', attempt: 1, idempotencyKey: 'hub:run:context' });
    expect(seen).toEqual([{ at: '1970-01-01T00:00:00.000Z', n: 1 }, null]);
  });

  it('rejects with a StepFailedError that the function may catch', async () => {
    const { handle } = await startRun(async ({ step }: RunCtx<null>) => {
      const failure = await step
        .run('charge', () => Promise.reject(new TypeError('declined')))
        .catch((error: unknown) => error);
      if (!(failure instanceof StepFailedError)) throw new Error('not a StepFailedError');
      const { step: id, attempts, failure: cause } = failure;
      return { id, attempts, cause };
    }, null);
    const cause = { name: 'TypeError', message: 'declined' };
    expect(await handle.result()).toEqual({ id: 'charge', attempts: 1, cause });
  });

  it('fails the run with its own error if the function does not catch it', async () => {
    const { handle, log } = await startRun(
      ({ step }: RunCtx<null>) => step.run('charge', () => Promise.reject(new TypeError('declined'))),
      null,
    );
    await expect(handle.result()).rejects.toMatchObject({ failure: { name: 'TypeError', message: 'declined' } });
    expect(log.find(({ message }) => message === 'step failed')?.fields).toMatchObject({
      step: 'charge',
      attempt: 1,
      workflow: 'w',
      requestId: handle.runId,
    });
  });

  it('suspends the run until its retry, which holds no slot', async () => {
    let attempts = 0;
    const test = await startRun(async ({ step }: RunCtx<null>) => {
      await step.run(
        'flaky',
        ({ attempt }) => {
          attempts += 1;
          if (attempt < 3) throw new Error('no');
        },
        { retry: { maxAttempts: 3, initialDelayMs: 1_000, jitter: false } },
      );
      return attempts;
    }, null);
    expect(await countsOf(test)).toMatchObject({ pending: 1, active: 0, suspended: 1, retried: 1 });
    expect((await test.handle.status()).steps).toMatchObject([
      {
        name: 'flaky',
        status: 'retrying',
        attempt: 2,
        error: { message: 'no' },
        waitsFor: { dueAt: test.clock.now() + 1_000 },
      },
    ]);
    await test.clock.advance(3_000);
    expect(await test.handle.result()).toBe(3);
    expect(await countsOf(test)).toMatchObject({ completed: 1, retried: 2, suspended: 0 });
  });
});

describe('step.sleep', () => {
  it('suspends the run for a year, without memory of its process', async () => {
    const test = await startRun(async ({ step }: RunCtx<null>) => {
      await step.sleep('long', 365 * day);
      await step.sleepUntil('past', 0);
      return 'awake';
    }, null);
    expect(await countsOf(test)).toMatchObject({ active: 0, suspended: 1 });
    await test.clock.advance(364 * day);
    expect((await test.handle.status()).status).toBe('suspended');
    await test.clock.advance(day);
    expect(await test.handle.result()).toBe('awake');
  });

  it('refuses durations and times that no transport can store', async () => {
    const { handle } = await startRun(async ({ step }: RunCtx<null>) => {
      const errors = await Promise.allSettled([
        step.sleep('a', -1),
        step.sleep('b', Number.MAX_VALUE),
        step.sleepUntil('c', new Date('nonsense')),
        step.sleepUntil('d', Number.MAX_SAFE_INTEGER),
      ]);
      return errors.map((result) => result.status === 'rejected' && (result.reason as Error).message);
    }, null);
    expect(await handle.result()).toEqual([
      expect.stringContaining('ms of step.sleep'),
      expect.stringContaining('ms of step.sleep'),
      expect.stringContaining('time of step.sleepUntil'),
      expect.stringContaining('time of step.sleepUntil'),
    ]);
  });
});

describe('step.waitForEvent', () => {
  it('resolves with the payload of an event that its own step provokes', async () => {
    const test = await startRun(
      async ({ step }: RunCtx<null>) => {
        const reply = step.waitForEvent('reply', 'replied');
        await step.emit('ask', 'asked', { q: 1 });
        return reply;
      },
      null,
      (hub) => {
        hub.event({ type: 'replied' });
        hub.event({ type: 'asked', handler: ({ emit, payload }) => emit('replied', { to: payload }) });
      },
    );
    expect(await test.handle.result()).toEqual({ to: { q: 1 } });
  });

  it('resolves with null after its timeout', async () => {
    const test = await startRun(
      ({ step }: RunCtx<null>) => step.waitForEvent('reply', 'replied', { timeoutMs: 2 * day }),
      null,
      (hub) => hub.event({ type: 'replied' }),
    );
    expect((await test.handle.status()).steps).toMatchObject([
      { name: 'reply', kind: 'event', status: 'waiting', waitsFor: { event: { type: 'replied' } } },
    ]);
    await test.clock.advance(2 * day);
    expect(await test.handle.result()).toBeNull();
  });

  it('fails the run if the type is not registered', async () => {
    const { handle } = await startRun(({ step }: RunCtx<null>) => step.waitForEvent('reply', 'replied'), null);
    await expect(handle.result()).rejects.toMatchObject({ failure: { name: UnknownEventError.name } });
  });
});

describe('step.invoke', () => {
  const child = createWorkflow({
    name: 'child',
    input: z.object({ n: z.number() }),
    run: async ({ input, step }) => {
      if (input.n < 0) throw new RangeError('negative');
      return step.run('double', () => input.n * 2);
    },
  });

  it('runs a child and resolves with its result', async () => {
    const test = await startRun(
      async ({ step }: RunCtx<null>) => {
        const [a, b] = await Promise.all([step.invoke('a', child, { n: 1 }), step.invoke('b', child, { n: 2 })]);
        return a + b;
      },
      null,
      (hub) => hub.workflow(child),
    );
    expect(await test.handle.result()).toBe(6);
    const steps = (await test.hub.run('w', test.handle.runId, { outputs: true })).steps;
    expect(steps).toMatchObject([
      { name: 'a', kind: 'invoke', status: 'completed', output: 2 },
      { name: 'b', kind: 'invoke', status: 'completed', output: 4 },
    ]);
  });

  it('rejects with the error of the child, and of an input that does not fit', async () => {
    const test = await startRun(
      async ({ step }: RunCtx<null>) => {
        const settled = await Promise.allSettled([
          step.invoke('failing', child, { n: -1 }),
          step.invoke('wrong', 'child', { n: 'x' }),
        ]);
        return settled.map((result) => result.status === 'rejected' && (result.reason as StepFailedError).failure.name);
      },
      null,
      (hub) => hub.workflow(child),
    );
    expect(await test.handle.result()).toEqual(['RangeError', SchemaValidationError.name]);
  });

  it('fails the run for an unknown workflow, and past 64 levels', async () => {
    const test = testHub();
    const deep = createWorkflow({
      name: 'deep',
      run: ({ step, input }: RunCtx<number>): Promise<unknown> => step.invoke('next', 'deep', input + 1),
    });
    const lost = createWorkflow({ name: 'lost', run: ({ step }: RunCtx<null>) => step.invoke('x', 'nowhere', 1) });
    test.hub.workflow(deep);
    test.hub.workflow(lost);
    await test.hub.start();
    const unknown = await test.hub.startWorkflow(lost, null);
    await expect(unknown.result()).rejects.toMatchObject({ failure: { name: UnknownWorkflowError.name } });
    const run = await test.hub.startWorkflow(deep, 0);
    await expect(run.result()).rejects.toMatchObject({ failure: { code: 'ERR_DEPTH_LIMIT' } });
    expect((await test.hub.introspect()).workflows.find(({ name }) => name === 'deep')?.metrics.received).toBe(65);
  });
});

describe('step.map', () => {
  it('runs each element as a step, at most `concurrency` at once', async () => {
    let running = 0;
    let most = 0;
    const gate = deferred();
    const test = await startRun(
      ({ step }: RunCtx<number[]>) =>
        step.map(
          'mail',
          [1, 2, 3, 4, 5],
          async (n, ctx) => {
            running += 1;
            most = Math.max(most, running);
            await gate.promise;
            running -= 1;
            return `${ctx.step} ${n}`;
          },
          { concurrency: 2 },
        ),
      [],
    );
    gate.resolve();
    expect(await test.handle.result()).toEqual(['mail[0] 1', 'mail[1] 2', 'mail[2] 3', 'mail[3] 4', 'mail[4] 5']);
    expect(most).toBe(2);
  });

  it('rejects with the first failure after the running elements have ended, and starts no more', async () => {
    const ran: number[] = [];
    const test = await startRun(
      ({ step }: RunCtx<null>) =>
        step.map(
          'mail',
          [0, 1, 2, 3],
          (n) => {
            ran.push(n);
            if (n === 0) throw new Error('bounced');
          },
          { concurrency: 2 },
        ),
      null,
    );
    await expect(test.handle.result()).rejects.toMatchObject({ failure: { message: 'bounced' } });
    expect(ran).toEqual([0, 1]);
  });
});

describe('emits', () => {
  it('of a step are accepted with its result: a failed attempt emits nothing', async () => {
    const seen: unknown[] = [];
    const test = await startRun(
      async ({ step }: RunCtx<null>) =>
        step.run(
          'bill',
          async ({ attempt, emit }) => {
            await emit('billed', { attempt });
            if (attempt === 1) throw new Error('no');
          },
          { retry: { initialDelayMs: 10, jitter: false } },
        ),
      null,
      (hub) => hub.event({ type: 'billed', handler: ({ payload }: HandlerCtx) => seen.push(payload) }),
    );
    await test.clock.advance(10);
    await test.handle.result();
    await test.clock.settle();
    expect(seen).toEqual([{ attempt: 2 }]);
  });

  it('of a handler are accepted with its outcome, in order, with its requestId and the id of their cause', async () => {
    const { hub, clock, transport } = testHub();
    const gate = deferred();
    const seen: HandlerCtx[] = [];
    const child = createWorkflow({ name: 'child', run: ({ input }: RunCtx<string>) => input });
    hub.workflow(child);
    hub.event({ type: 'b', handler: (ctx) => seen.push(ctx) });
    hub.event({
      type: 'a',
      handler: async ({ emit, startWorkflow }) => {
        const { id } = await emit('b', 1);
        const { runId } = await startWorkflow(child, 'in');
        await gate.promise;
        return { id, runId };
      },
    });
    await hub.start();
    await hub.emit('a', null, { requestId: 'r' });
    await clock.settle();
    expect(await hub.metrics('b')).toMatchObject({ received: 0 });
    gate.resolve();
    await clock.settle();
    expect(seen).toMatchObject([{ requestId: 'r', depth: 1, payload: 1 }]);
    expect(transport).toBeDefined();
    expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ completed: 1 });
  });

  it('are limited per outcome, and validate at once', async () => {
    const { hub, clock } = testHub();
    const errors: unknown[] = [];
    hub.event({ type: 'b', schema: z.number() });
    hub.event({
      type: 'a',
      handler: async ({ emit }) => {
        await emit('b', 'x').catch((error: unknown) => errors.push(error));
        await emit('missing', 1).catch((error: unknown) => errors.push(error));
        for (let i = 0; i < 1_000; i += 1) await emit('b', i);
        await emit('b', 1_000).catch((error: unknown) => errors.push(error));
      },
    });
    await hub.start();
    await hub.emit('a', null);
    await clock.settle();
    expect(errors).toMatchObject([
      { code: 'ERR_SCHEMA_VALIDATION' },
      { code: 'ERR_UNKNOWN_EVENT' },
      { code: 'ERR_EMIT_LIMIT', message: expect.stringContaining('1000 events') },
    ]);
    expect(await hub.metrics('b')).toMatchObject({ received: 1_000 });
  });

  it('of hub.emit with a cause are accepted at once, whatever becomes of the handler', async () => {
    const { hub, clock } = testHub();
    const seen: HandlerCtx[] = [];
    hub.event({ type: 'b', handler: (ctx) => seen.push(ctx) });
    hub.event({
      type: 'a',
      handler: async (ctx) => {
        await hub.emit('b', 1, { cause: ctx });
        throw new Error('no');
      },
    });
    await hub.start();
    await hub.emit('a', null, { requestId: 'r' });
    await clock.settle();
    expect(seen).toMatchObject([{ requestId: 'r', depth: 1 }]);
  });
});

describe('cancel', () => {
  it('ends a suspended run and its children, with the reason', async () => {
    const seen: unknown[] = [];
    const child = createWorkflow({
      name: 'child',
      onFailure: 'child.failed',
      run: ({ step }: RunCtx<null>) => step.sleep('long', day),
    });
    const test = await startRun(
      ({ step }: RunCtx<null>) => step.invoke('child', child, null),
      null,
      (hub) => {
        hub.event({ type: 'child.failed', handler: ({ payload }) => seen.push(payload) });
        hub.workflow(child);
      },
    );
    expect(await test.handle.cancel('customer left')).toBe(true);
    await expect(test.handle.result()).rejects.toMatchObject({
      failure: { name: 'WorkflowCancelledError', message: expect.stringContaining('customer left') },
    });
    await test.clock.settle();
    expect(seen).toMatchObject([{ error: { name: 'WorkflowCancelledError' }, payload: null }]);
    expect((await test.hub.introspect()).workflows.map(({ metrics }) => metrics.failed)).toEqual([1, 1]);
    expect(await countsOf(test)).toMatchObject({ pending: 0, suspended: 0 });
  });

  it('aborts the signal of the run and of its running step', async () => {
    const reasons: unknown[] = [];
    const test = await startRun(async ({ step, signal }: RunCtx<null>) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      await step.run('hang', (ctx) => {
        ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason));
        return new Promise(() => {});
      });
    }, null);
    await test.handle.cancel();
    expect(reasons).toMatchObject([{ code: 'ERR_WORKFLOW_CANCELLED' }, { code: 'ERR_WORKFLOW_CANCELLED' }]);
  });
});
