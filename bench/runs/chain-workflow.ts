import { createWorkflow, type HubWorkflow, type RunCtx } from '../../dist/index.js';

/** Number of steps of {@link chainWorkflow}, and of links in the chains that it is compared with. */
export const steps = 5;

/** Creates a workflow of instant steps. @param onEnd is called at the end of each run */
export function chainWorkflow(onEnd: () => void): HubWorkflow<number, number> {
  return createWorkflow({
    name: 'chain',
    run: async ({ input, step }: RunCtx<number>) => {
      let sum = input;
      for (let i = 0; i < steps; i += 1) sum = await step.run('add', async () => sum + 1);
      onEnd();
      return sum;
    },
  });
}
