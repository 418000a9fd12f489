import { describe, expect, it } from 'vitest';
import { FatalError, InvalidOptionError } from '../../errors.js';
import { BackpressureError } from '../../transports/errors.js';
import { HubNotStartedError, HubStoppedError, UnknownDeadLetterError, UnknownEventError } from '../errors.js';
import type { HandlerCtx } from '../events/context.js';
import { deferred, type TestHub, testHub } from '../hub.fixture.js';
import type { StepCtx } from '../runs/step.js';
import { createWorkflow, type HubWorkflow } from '../runs/workflow.js';

/** Starts a hub with a type whose handler fails until `heal` is called. Records the handler's contexts. */
async function failing(options: Parameters<typeof testHub>[0] = {}) {
  const test = testHub(options);
  const calls: HandlerCtx<number>[] = [];
  let isWell = false;
  const charge = test.hub.event<number>({
    type: 'charge',
    retry: { maxAttempts: 2, initialDelayMs: 10, jitter: false },
    onSuccess: 'charged',
    onFailure: 'declined',
    onComplete: 'settled',
    handler(ctx) {
      calls.push(ctx);
      if (!isWell) throw new TypeError('no money');
      return 'paid';
    },
  });
  const followed: string[] = [];
  for (const type of ['charged', 'declined', 'settled']) {
    test.hub.event({ type, handler: ({ eventId }) => followed.push(`${type} ${eventId}`) });
  }
  await test.hub.start();
  const heal = (): void => {
    isWell = true;
  };
  return { ...test, charge, calls, followed, heal };
}

describe('dead letter of an event', () => {
  it('is listed with its payload, newest first', async () => {
    const { hub, clock, charge } = await failing();
    const first = await hub.emit(charge, 1, { requestId: 'r-1' });
    await clock.advance(20);
    const second = await hub.emit(charge, 2);
    await clock.advance(20);
    const deadLetters = await hub.deadLetters(charge);
    const payloads: number[] = deadLetters.map(({ payload }) => payload);
    expect(payloads).toEqual([2, 1]);
    expect(deadLetters[1]).toEqual({
      id: first.id,
      at: expect.any(Number),
      attempt: 2,
      name: 'TypeError',
      message: 'no money',
      requestId: 'r-1',
      payload: 1,
    });
    expect(deadLetters.map(({ id }) => id)).toEqual((await hub.failures('charge')).map(({ id }) => id));
    expect(await hub.deadLetters('charge', { limit: 1 })).toMatchObject([{ id: second.id }]);
  });

  it('runs again after a replay, as the same event at attempt 1', async () => {
    const { hub, clock, charge, calls, heal } = await failing();
    const { id } = await hub.emit(charge, 7, { requestId: 'r-1' });
    await clock.advance(20);
    heal();
    expect(await hub.replay(id)).toEqual({ id });
    await clock.settle();
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
    expect(calls[2]).toMatchObject({ payload: 7, eventId: id, requestId: 'r-1', depth: 0 });
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await hub.metrics('charge')).toMatchObject({ received: 2, completed: 1, failed: 1, pending: 0, retried: 1 });
    expect(await hub.deadLetters(charge)).toEqual([]);
  });

  it('emits follow-ups of the new outcome with ids that differ from the first', async () => {
    const { hub, clock, charge, followed, heal } = await failing();
    const { id } = await hub.emit(charge, 7);
    await clock.advance(20);
    await hub.replay(id);
    await clock.advance(20);
    heal();
    await hub.replay(id);
    await clock.settle();
    expect(followed.map((line) => line.split(' ')[0])).toEqual([
      'declined',
      'settled',
      'declined',
      'settled',
      'charged',
      'settled',
    ]);
    expect(new Set(followed).size).toBe(6);
  });

  it('is replayed once by two concurrent calls', async () => {
    const { hub, clock, charge } = await failing();
    const { id } = await hub.emit(charge, 7);
    await clock.advance(20);
    const tries = await Promise.allSettled([hub.replay(id), hub.replay(id)]);
    expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(hub.replay(id)).rejects.toThrow(UnknownDeadLetterError);
    await expect(hub.replay(id)).rejects.toThrow(`service "hub" has no dead letter with the id "${id}"`);
  });

  it('is retained if the transport is full', async () => {
    const { hub, clock, charge } = await failing({ maxPending: 1 });
    const { id } = await hub.emit(charge, 7);
    await clock.advance(20);
    await clock.settle();
    await hub.emit(charge, 8);
    await expect(hub.replay(id)).rejects.toThrow(BackpressureError);
    expect(await hub.deadLetters(charge)).toMatchObject([{ id }]);
  });

  it('can be replayed by a read-only hub, but only while the hub runs', async () => {
    const { hub, clock, charge, calls, transport, heal } = await failing();
    const { id } = await hub.emit(charge, 7);
    await clock.advance(20);
    heal();
    const desk = testHub({ transport, observer: true, service: 'hub' });
    await expect(desk.hub.replay(id)).rejects.toThrow(HubNotStartedError);
    await desk.hub.start();
    expect(await desk.hub.deadLetters('charge')).toMatchObject([{ id, payload: 7 }]);
    await desk.hub.replay(id);
    await clock.settle();
    expect(calls).toHaveLength(3);
    await desk.hub.stop();
    await expect(desk.hub.replay(id)).rejects.toThrow(HubStoppedError);
  });

  it('rejects an unknown name and invalid options', async () => {
    const { hub } = await failing();
    expect(await hub.deadLetters('charge')).toEqual([]);
    await expect(hub.deadLetters('chrage')).rejects.toThrow(UnknownEventError);
    await expect(hub.deadLetters('charge', { limit: 0 })).rejects.toThrow('limit of deadLetters must be');
    await expect(hub.deadLetters('charge', { max: 1 } as never)).rejects.toThrow(InvalidOptionError);
    await expect(hub.deadLetters(7 as never)).rejects.toThrow(InvalidOptionError);
    await expect(hub.replay(undefined as never)).rejects.toThrow('id of replay must be');
  });
});

describe('dead letter of a workflow run', () => {
  function fulfil(log: string[], isWell: () => boolean): HubWorkflow {
    const logged = ({ workflow, attempt, idempotencyKey }: StepCtx): string => {
      log.push(`${workflow.step} ${attempt} ${idempotencyKey.split(':').at(-1)}`);
      return workflow.step;
    };
    const ship = (ctx: StepCtx): string => {
      logged(ctx);
      if (!isWell()) throw new Error('no truck');
      return `${ctx.payload} shipped`;
    };
    const retry = { maxAttempts: 2, initialDelayMs: 10, jitter: false };
    return createWorkflow({
      name: 'fulfil',
      steps: [
        { name: 'pick', handler: logged },
        { name: 'ship', retry, handler: ship },
      ],
    });
  }

  async function failedRun(): Promise<
    TestHub & { id: string; steps: string[]; result(): Promise<unknown>; heal(): void }
  > {
    const test = testHub();
    const steps: string[] = [];
    let isWell = false;
    const flow = test.hub.workflow(fulfil(steps, () => isWell));
    await test.hub.start();
    const run = await test.hub.startWorkflow(flow, { order: 1 });
    await test.clock.advance(20);
    await expect(run.result()).rejects.toThrow('no truck');
    return {
      ...test,
      id: run.runId,
      steps,
      result: () => run.result(),
      heal() {
        isWell = true;
      },
    };
  }

  it('resumes at the failed step after a replay, and its handle resolves with the result', async () => {
    const { hub, clock, id, steps, result, heal } = await failedRun();
    expect(await hub.deadLetters('fulfil')).toMatchObject([{ id, payload: { order: 1 } }]);
    heal();
    await hub.replay(id);
    const ended = result();
    await clock.settle();
    expect(await ended).toBe('pick shipped');
    expect(steps).toEqual(['pick 1 pick', 'ship 1 ship', 'ship 2 ship', 'ship 1 ship']);
    const [workflow] = (await hub.introspect()).workflows;
    expect(workflow?.metrics).toMatchObject({ received: 2, completed: 1, failed: 1, pending: 0 });
    expect(workflow?.runs).toMatchObject([{ id, status: 'completed', attempt: 1 }]);
  });

  it('has all attempts of its step again after a replay', async () => {
    const { hub, clock, id, steps, heal } = await failedRun();
    await hub.replay(id);
    await clock.settle();
    heal();
    const waiting = (await hub.introspect()).workflows[0]?.runs;
    expect(waiting).toMatchObject([{ status: 'suspended', attempt: 2, steps: [{}, { status: 'retrying' }] }]);
    await clock.advance(20);
    expect(steps.slice(3)).toEqual(['ship 1 ship', 'ship 2 ship']);
    expect((await hub.introspect()).workflows[0]?.runs).toMatchObject([{ status: 'completed' }]);
  });

  it('does not exist for a cancelled run', async () => {
    const { hub, clock } = testHub();
    const never = deferred();
    const flow = hub.workflow(
      createWorkflow({ name: 'endless', steps: [{ name: 'wait', handler: () => never.promise }] }),
    );
    await hub.start();
    const run = await hub.startWorkflow(flow, null);
    await clock.settle();
    await run.cancel();
    expect(await hub.deadLetters(flow)).toEqual([]);
    await expect(hub.replay(run.runId)).rejects.toThrow(UnknownDeadLetterError);
  });

  it('is listed together with events of the same name', async () => {
    const { hub, clock } = testHub();
    const fail = (): never => {
      throw new FatalError('no');
    };
    const event = hub.event({ type: 'both', handler: fail });
    const flow = hub.workflow(createWorkflow({ name: 'both', steps: [{ name: 'one', handler: fail }] }));
    await hub.start();
    const { id } = await hub.emit(event, 1);
    await clock.advance(5);
    const { runId } = await hub.startWorkflow(flow, 2);
    await clock.settle();
    expect(await hub.deadLetters('both')).toMatchObject([
      { id: runId, payload: 2 },
      { id, payload: 1 },
    ]);
    expect(await hub.deadLetters(event)).toMatchObject([{ id }]);
    expect(await hub.deadLetters(flow)).toMatchObject([{ id: runId }]);
  });
});
