import { expect, it, onTestFinished } from 'vitest';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { createHub } from '../create-hub.js';
import type { RunCtx } from './step.js';
import { createWorkflow } from './workflow.js';

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
    // More than a turn of the event loop accepts, at once and one after another.
    const inputs = Array.from({ length: 600 }, (_each, index) => index);
    for (const workflow of workflows) {
      const start = async (input: number): Promise<number> => (await hub.startWorkflow(workflow, input)).result();
      expect(await Promise.all(inputs.map(start))).toEqual(inputs);
      for (const input of inputs) expect(await start(input)).toBe(input);
    }
  },
);
