import { expect, it, onTestFinished } from 'vitest';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { createHub } from '../create-hub.js';
import type { RunCtx } from './step.js';
import { createWorkflow } from './workflow.js';

it.each(everyTransport)('the result of an erased run is a typed error, on %s', async (_, create) => {
  const hub = createHub({ transport: create() });
  const completing = hub.workflow(createWorkflow({ name: 'completing', run: () => null }));
  const failing = hub.workflow(
    createWorkflow({
      name: 'failing',
      run: () => {
        throw new Error('no');
      },
    }),
  );
  await hub.start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const completed = await hub.startWorkflow(completing, 1, { requestId: 'r' });
  const failed = await hub.startWorkflow(failing, 1, { requestId: 'r' });
  const failure = { code: 'ERR_WORKFLOW_FAILED', failure: { message: 'no' } };
  expect(await completed.result()).toBeNull();
  await expect(failed.result()).rejects.toMatchObject(failure);
  expect(await hub.erase({ requestId: 'r' })).toMatchObject({ runs: 2 });
  await expect(completed.result()).rejects.toMatchObject({ code: 'ERR_RUN_ERASED' });
  expect(await completed.status()).toMatchObject({ status: 'completed' });
  await expect(failed.result()).rejects.toMatchObject(failure);
});

it.each(everyTransport)(
  'the results of runs that end at once and are not retained reach those who start them, on %s',
  async (_, create) => {
    const hub = createHub({ transport: create() });
    const retain = { completed: 0 };
    const workflows = [
      createWorkflow({ name: 'without steps', retain, run: async ({ input }: RunCtx<number>) => input }),
      createWorkflow({
        name: 'with a step',
        retain,
        run: async ({ input, step }: RunCtx<number>) => step.run('return', async () => input),
      }),
    ];
    for (const workflow of workflows) hub.workflow(workflow);
    await hub.start();
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    // More than a turn of the event loop accepts at once, and some one after another.
    const inputs = Array.from({ length: 600 }, (_each, index) => index);
    for (const workflow of workflows) {
      const start = async (input: number): Promise<number> => (await hub.startWorkflow(workflow, input)).result();
      expect(await Promise.all(inputs.map(start))).toEqual(inputs);
      for (const input of inputs.slice(0, 100)) expect(await start(input)).toBe(input);
    }
  },
);
