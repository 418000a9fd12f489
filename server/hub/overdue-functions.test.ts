import { describe, expect, it } from 'vitest';
import { recordTelemetry } from '../testing/record-telemetry.fixture.js';
import { deferred, type TestHub, testHub } from './hub.fixture.js';
import type { Step } from './runs/step.js';
import { createWorkflow } from './runs/workflow.js';

it.each([
  ['without telemetry', () => {}],
  ['with telemetry', recordTelemetry],
])('a handler that ignores its timeout keeps the slot of its type until it returns, %s', async (_, observe) => {
  observe();
  const { hub, clock } = testHub();
  const returning = deferred();
  const aborted: boolean[] = [];
  let running = 0;
  let most = 0;
  hub.event({
    type: 'a',
    concurrency: 1,
    timeoutMs: 50,
    handler: async ({ signal }) => {
      running += 1;
      most = Math.max(most, running);
      await returning.promise;
      aborted.push(signal.aborted);
      running -= 1;
    },
  });
  await hub.start();
  await hub.emitMany('a', Array(20).fill(1));
  await clock.advance(5_000);
  expect(await hub.metrics('a')).toMatchObject({ received: 20, failed: 1, active: 0, pending: 19 });
  returning.resolve();
  await clock.advance(1_000);
  expect(most).toBe(1);
  expect(aborted).toEqual([true, ...Array(19).fill(false)]);
  expect(await hub.metrics('a')).toMatchObject({ completed: 19, failed: 1, pending: 0 });
});

it('discards what an overdue handler returns, and its rejection', async () => {
  const { hub, clock, log } = testHub();
  const late = deferred();
  hub.event({ type: 'a', timeoutMs: 50, handler: () => late.promise });
  await hub.start();
  await hub.emit('a', 1);
  await clock.advance(100);
  late.reject(new Error('too late'));
  await clock.settle();
  expect(await hub.failures('a')).toMatchObject([{ name: 'HandlerTimeoutError' }]);
  expect(log.filter(({ level }) => level === 'error')).toHaveLength(1);
});

it('stop waits for overdue handlers, and reports those that have not returned at drainMs', async () => {
  const hangs = testHub();
  const returns = testHub();
  const late = deferred();
  hangs.hub.event({ type: 'a', timeoutMs: 50, handler: () => new Promise(() => {}) });
  returns.hub.event({ type: 'a', timeoutMs: 50, handler: () => late.promise });
  for (const { hub, clock } of [hangs, returns]) {
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(100);
  }
  const stopped = hangs.hub.stop({ drainMs: 1_000 });
  await hangs.clock.advance(1_000);
  expect(await stopped).toEqual({ released: 0, overdue: 1 });
  const drained = returns.hub.stop({ drainMs: 1_000 });
  late.resolve();
  await returns.clock.settle();
  expect(await drained).toEqual({ released: 0, overdue: 0 });
});

it('concurrencyPerKey counts an overdue handler, also for the retry of its own event', async () => {
  const { hub, clock } = testHub();
  const late = deferred();
  const calls: unknown[] = [];
  hub.event<string>({
    type: 'a',
    key: (payload) => payload.slice(0, 1),
    concurrencyPerKey: 1,
    timeoutMs: 50,
    retry: { maxAttempts: 2, initialDelayMs: 10, jitter: false },
    handler: ({ payload, attempt }) => {
      calls.push([payload, attempt]);
      return payload === 'x1' && attempt === 1 ? late.promise : undefined;
    },
  });
  await hub.start();
  await hub.emitMany('a', ['x1', 'x2', 'y1']);
  await clock.advance(1_000);
  expect(calls).toEqual([
    ['x1', 1],
    ['y1', 1],
  ]);
  late.resolve();
  await clock.advance(100);
  expect(calls.slice(2)).toEqual([
    ['x1', 2],
    ['x2', 1],
  ]);
});

describe('a function of a step that runs on', () => {
  const timed = { timeoutMs: 50, retry: { maxAttempts: 2, initialDelayMs: 10, jitter: false } };

  it('keeps the slot of its process until it returns, while its run goes on', async () => {
    const { hub, clock } = testHub({ concurrency: 1 });
    const late = deferred();
    const calls: unknown[] = [];
    const workflow = createWorkflow({
      name: 'w',
      run: ({ input, step }) =>
        step.run(
          'call',
          ({ attempt }) => {
            calls.push([input, attempt]);
            return input === 1 && attempt === 1 ? late.promise : undefined;
          },
          timed,
        ),
    });
    hub.workflow(workflow);
    await hub.start();
    await hub.startWorkflow(workflow, 1);
    await clock.advance(1);
    await hub.startWorkflow(workflow, 2);
    await clock.advance(5_000);
    expect(calls).toEqual([[1, 1]]);
    late.resolve();
    await clock.advance(100);
    expect(calls.slice(1)).toEqual(
      expect.arrayContaining([
        [1, 2],
        [2, 1],
      ]),
    );
    expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ completed: 2 });
  });

  it('blocks neither the retry of its run nor the next run of its key', async () => {
    const { hub, clock } = testHub();
    const calls: unknown[] = [];
    const workflow = createWorkflow({
      name: 'w',
      key: () => 'k',
      concurrencyPerKey: 1,
      run: ({ input, step }) =>
        step.run(
          'call',
          ({ attempt }) => {
            calls.push([input, attempt]);
            return input === 1 ? new Promise(() => {}) : undefined;
          },
          timed,
        ),
    });
    hub.workflow(workflow);
    await hub.start();
    await hub.startWorkflow(workflow, 1);
    await hub.startWorkflow(workflow, 2);
    await clock.advance(1_000);
    expect(calls).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
    const stopped = hub.stop({ drainMs: 1_000 });
    await clock.advance(1_000);
    expect(await stopped).toEqual({ released: 0, overdue: 2 });
  });

  it.each<[string, (step: Step, call: () => Promise<void>) => Promise<unknown>]>([
    ['has timed out', (step, call) => step.run('call', call, { timeoutMs: 50 }).catch(() => {})],
    [
      'is not awaited by the run',
      (step, call) => {
        void step.run('call', call);
        return step.sleep('pause', 10);
      },
    ],
    [
      'runs beside a step that fails the run',
      (step, call) => Promise.all([step.run('call', call), step.run('fail', () => Promise.reject(new Error('no')))]),
    ],
  ])('is waited for by stop, and counted if it does not return: it %s', async (_, run) => {
    const hangs = testHub();
    const returns = testHub();
    const late = deferred();
    const calls: [TestHub, () => Promise<void>][] = [
      [hangs, () => new Promise(() => {})],
      [returns, () => late.promise],
    ];
    for (const [{ hub, clock }, call] of calls) {
      hub.workflow(createWorkflow({ name: 'w', run: ({ step }) => run(step, call) }));
      await hub.start();
      await hub.startWorkflow('w', null);
      await clock.advance(200);
      const [workflow] = (await hub.introspect()).workflows;
      expect(workflow?.metrics).toMatchObject({ pending: 0, active: 0 });
    }
    const stopped = hangs.hub.stop({ drainMs: 1_000 });
    await hangs.clock.advance(1_000);
    expect(await stopped).toEqual({ released: 0, overdue: 1 });
    const drained = returns.hub.stop({ drainMs: 1_000 });
    late.resolve();
    await returns.clock.settle();
    expect(await drained).toEqual({ released: 0, overdue: 0 });
  });
});
