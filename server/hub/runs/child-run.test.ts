import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SchemaValidationError, type StepFailedError, UnknownWorkflowError } from '../errors.js';
import { testHub } from '../hub.fixture.js';
import { countsOf, startRun } from './start-run.fixture.js';
import type { RunCtx } from './step.js';
import { createWorkflow } from './workflow.js';

const day = 86_400_000;

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
    const steps = (await test.hub.getRun('w', test.handle.runId, { outputs: true })).steps;
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

  it('is cancelled with its parent, with the reason', async () => {
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
});
