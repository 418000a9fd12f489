import { describe, expect, it } from 'vitest';
import { FatalError } from '../../errors.js';
import { deriveId } from '../../transports/derived-ids.js';
import { HubStoppedError, WorkflowFailedError } from '../errors.js';
import type { HandlerCtx } from '../events/context.js';
import { deferred, testHub } from '../hub.fixture.js';
import type { StepCtx } from './step.js';
import { createWorkflow, type UntypedWorkflowConfig, type WorkflowStep } from './workflow.js';

const pass = ({ payload }: StepCtx): unknown => payload;

function steps(...list: (WorkflowStep | string)[]): WorkflowStep[] {
  return list.map((step) => (typeof step === 'string' ? { name: step, handler: pass } : step));
}

describe('workflow run', () => {
  it('runs its steps, each with the output of the previous one', async () => {
    const { hub } = testHub({ service: 'shop' });
    const seen: StepCtx[] = [];
    const look = (output: unknown) => (ctx: StepCtx) => {
      seen.push(ctx);
      return output;
    };
    hub.workflow(
      createWorkflow({
        name: 'fulfil',
        steps: [
          { name: 'pick', handler: look({ picked: 2 }) },
          { name: '__proto__', handler: look(undefined) },
          { name: 'ship', handler: look('shipped') },
        ],
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow('fulfil', { order: 1 }, { requestId: 'r-1' });
    expect(await run.result()).toBe('shipped');
    expect(seen.map(({ payload }) => payload)).toEqual([{ order: 1 }, { picked: 2 }, null]);
    expect(seen.map(({ workflow }) => workflow.step)).toEqual(['pick', '__proto__', 'ship']);
    const last = seen.at(-1);
    expect(last).toMatchObject({ requestId: 'r-1', eventType: 'fulfil', eventId: run.runId, attempt: 1 });
    expect(last?.workflow).toMatchObject({ name: 'fulfil', runId: run.runId, input: { order: 1 } });
    expect(Object.entries(last?.workflow.outputs ?? {})).toEqual([
      ['pick', { picked: 2 }],
      ['__proto__', null],
    ]);
    expect(last?.idempotencyKey).toBe(`shop:${run.runId}:ship`);
  });

  it('is counted like an event and listed with the status of its steps', async () => {
    const { hub, clock } = testHub();
    const gate = deferred();
    hub.workflow(createWorkflow({ name: 'w', steps: steps('a', { name: 'b', handler: () => gate.promise }, 'c') }));
    await hub.start();
    const run = await hub.startWorkflow('w', 1);
    await clock.settle();
    const [during] = (await hub.introspect()).workflows;
    expect(during?.metrics).toMatchObject({ received: 1, completed: 0, pending: 1, active: 1 });
    expect(during?.steps).toEqual(['a', 'b', 'c'].map((name) => ({ name, kind: 'step' })));
    expect(during?.runs).toMatchObject([
      {
        id: run.runId,
        service: 'hub',
        status: 'active',
        steps: [
          { name: 'a', status: 'completed', durationMs: 0 },
          { name: 'b', status: 'active' },
          { name: 'c', status: 'waiting' },
        ],
      },
    ]);
    const revision = await hub.revision();
    gate.resolve();
    expect(await run.result()).toBeNull();
    expect(await hub.revision()).not.toBe(revision);
    const [after] = (await hub.introspect()).workflows;
    expect(after?.metrics).toMatchObject({ received: 1, completed: 1, pending: 0, active: 0 });
    expect(await run.status()).toMatchObject({ status: 'completed', endedAt: clock.now() });
  });

  it('retries a failed step by the policy of the step, and no earlier step', async () => {
    const { hub, clock } = testHub();
    const ran: [string, number][] = [];
    const note = (ctx: StepCtx, failures: number): string => {
      ran.push([ctx.workflow.step, ctx.attempt]);
      if (ctx.attempt <= failures) throw new Error('flaky');
      return ctx.workflow.step;
    };
    const retry = { maxAttempts: 3, initialDelayMs: 100, jitter: false };
    hub.workflow(
      createWorkflow({
        name: 'w',
        steps: [
          { name: 'a', retry, handler: (ctx) => note(ctx, 1) },
          { name: 'b', retry, handler: (ctx) => note(ctx, 2) },
          { name: 'c', handler: (ctx) => note(ctx, 0) },
        ],
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow('w', 1);
    await clock.advance(100);
    expect((await run.status()).steps).toMatchObject([
      { status: 'completed' },
      { status: 'retrying' },
      { status: 'waiting' },
    ]);
    await clock.advance(400);
    expect(await run.result()).toBe('c');
    expect(ran).toEqual([
      ['a', 1],
      ['a', 2],
      ['b', 1],
      ['b', 2],
      ['b', 3],
      ['c', 1],
    ]);
    expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ received: 1, completed: 1, retried: 3 });
  });

  it.each([
    ['throws', () => Promise.reject(new FatalError('out of stock')), 'FatalError', 'out of stock'],
    ['returns a value that is not JSON', () => 10n, 'PayloadNotJsonError', 'output of step b is a bigint'],
    ['exceeds its timeoutMs', () => new Promise(() => {}), 'HandlerTimeoutError', 'handler of "w: b"'],
  ])('fails if a step %s', async (_, handler, name, message) => {
    const { hub, clock, log } = testHub();
    hub.workflow(createWorkflow({ name: 'w', steps: steps('a', { name: 'b', handler, timeoutMs: 50 }, 'c') }));
    await hub.start();
    const run = await hub.startWorkflow('w', 1);
    await clock.advance(50);
    const error: unknown = await run.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WorkflowFailedError);
    expect(error).toMatchObject({ runId: run.runId, failure: { name, message: expect.stringContaining(message) } });
    expect((await run.status()).steps).toMatchObject([
      { status: 'completed' },
      { status: 'failed' },
      { status: 'waiting' },
    ]);
    expect(log.at(-1)).toMatchObject({ message: 'workflow failed', fields: { workflow: 'w', runId: run.runId } });
  });

  it('emits follow-ups with ids that derive from its id', async () => {
    const { hub, clock } = testHub();
    const seen: HandlerCtx[] = [];
    const names = { onSuccess: 'ok', onFailure: 'bad', onComplete: 'done' };
    for (const type of Object.values(names)) hub.event({ type, handler: (ctx) => seen.push(ctx) });
    hub.workflow(
      createWorkflow({
        name: 'w',
        ...names,
        steps: steps({
          name: 'a',
          handler: ({ payload }) => {
            if (payload === 'bad') throw new Error('no');
            return { fine: true };
          },
        }),
      }),
    );
    await hub.start();
    const good = await hub.startWorkflow('w', 'good');
    await clock.settle();
    const bad = await hub.startWorkflow('w', 'bad');
    await clock.settle();
    const error = { name: 'Error', message: 'no' };
    const event = expect.objectContaining({ kind: 'workflow', type: 'w', id: bad.runId, attempt: 1, step: 'a' });
    expect(seen.map(({ eventType, eventId, payload, depth }) => [eventType, eventId, payload, depth])).toEqual([
      ['ok', deriveId('hub', good.runId, 'success'), { fine: true }, 1],
      [
        'done',
        deriveId('hub', good.runId, 'complete'),
        { status: 'completed', result: { fine: true }, payload: 'good' },
        1,
      ],
      ['bad', deriveId('hub', bad.runId, 'failure'), { error, event, payload: 'bad' }, 1],
      ['done', deriveId('hub', bad.runId, 'complete'), { status: 'failed', error, event, payload: 'bad' }, 1],
    ]);
  });

  it('starts when its trigger is emitted, with or without a handler for that event', async () => {
    const { hub, clock } = testHub();
    const inputs: unknown[] = [];
    hub.event({ type: 'order.paid' });
    hub.workflow(
      createWorkflow({
        name: 'fulfil',
        trigger: 'order.paid',
        steps: [{ name: 'pick', handler: ({ workflow, requestId }) => inputs.push([workflow.input, requestId]) }],
      }),
    );
    await hub.start();
    const { id } = await hub.emit('order.paid', { order: 1 });
    await clock.settle();
    expect(inputs).toEqual([[{ order: 1 }, id]]);
    expect(await hub.metrics('order.paid')).toMatchObject({ received: 1, completed: 1 });
    expect((await hub.introspect()).workflows[0]).toMatchObject({ trigger: 'order.paid', metrics: { completed: 1 } });
  });

  it('resumes at the interrupted step in the next hub, with the same idempotency key', async () => {
    const { hub, clock, transport } = testHub();
    const ran: [string, string, number][] = [];
    const note = (ctx: StepCtx): void => {
      ran.push([ctx.workflow.step, ctx.idempotencyKey, ctx.attempt]);
    };
    const define = (hang: boolean): UntypedWorkflowConfig => ({
      name: 'w',
      steps: [
        { name: 'a', handler: (ctx) => note(ctx) },
        {
          name: 'b',
          handler(ctx) {
            note(ctx);
            return hang ? new Promise(() => {}) : 'done';
          },
        },
      ],
    });
    hub.workflow(createWorkflow(define(true)));
    await hub.start();
    const run = await hub.startWorkflow('w', 1);
    await clock.settle();
    const waiting = run.result();
    expect(await hub.stop({ drainMs: 0 })).toEqual({ released: 1, overdue: 0 });
    await expect(waiting).rejects.toThrow(HubStoppedError);
    const again = testHub({ transport });
    again.hub.workflow(createWorkflow(define(false)));
    await again.hub.start();
    await clock.settle();
    const key = `hub:${run.runId}`;
    expect(ran).toEqual([
      ['a', `${key}:a`, 1],
      ['b', `${key}:b`, 1],
      ['b', `${key}:b`, 1],
    ]);
    expect((await again.hub.introspect()).workflows[0]?.metrics).toMatchObject({
      received: 1,
      completed: 1,
      failed: 0,
    });
  });

  it('fails with WorkflowVersionError after a checkpoint if the steps changed, and runs if it had not started', async () => {
    const { hub, clock, transport } = testHub();
    hub.workflow(createWorkflow({ name: 'w', steps: steps('a', { name: 'b', handler: () => new Promise(() => {}) }) }));
    await hub.start();
    const between = await hub.startWorkflow('w', 1);
    await hub.startWorkflow('w', 2, { delayMs: 10 });
    await clock.settle();
    await hub.stop({ drainMs: 0 });
    const again = testHub({ transport });
    again.hub.workflow(createWorkflow({ name: 'w', steps: steps('renamed', 'b') }));
    await again.hub.start();
    await again.clock.settle();
    const [workflow] = (await again.hub.introspect()).workflows;
    expect(workflow?.runs.find(({ id }) => id === between.runId)).toMatchObject({
      status: 'failed',
      error: {
        name: 'WorkflowVersionError',
        message: expect.stringContaining('recorded the step run:a, but the code now asks for run:renamed'),
      },
    });
    expect(workflow?.metrics).toMatchObject({ received: 2, failed: 1 });
  });

  it('does not pass changes of an earlier step to its payload', async () => {
    const { hub } = testHub();
    hub.workflow(
      createWorkflow({
        name: 'w',
        steps: [
          { name: 'a', handler: () => ({ list: [1] }) },
          {
            name: 'b',
            handler: (ctx: StepCtx<{ list: number[] }>) => {
              ctx.payload.list.push(2);
              (ctx.workflow.outputs['a'] as { list: number[] }).list.push(3);
            },
          },
          { name: 'c', handler: ({ workflow }) => workflow.outputs['a'] },
        ],
      }),
    );
    await hub.start();
    expect(await (await hub.startWorkflow('w', 1)).result()).toEqual({ list: [1] });
  });
});
