import { createHub, createWorkflow, type RunCtx, WorkflowFailedError } from 'hubline';

const hub = createHub({ logger: false });
const collect = hub.workflow(
  createWorkflow({
    name: 'collect',
    run: ({ step }: RunCtx<{ order: string }>) => step.sleep('until-due', 30 * 86_400_000),
  }),
);
await hub.start();
const run = await hub.startWorkflow(collect, { order: 'A-1' });
console.log(await run.cancel('the customer withdrew'));
await run.result().catch((error: unknown) => {
  if (error instanceof WorkflowFailedError) console.log(/cancelled: .*/.exec(error.failure.message)?.[0]);
});
console.log((await run.status()).status);
await hub.stop();
