import { createHub, createWorkflow, type StepCtx } from 'hubline';

const hub = createHub();
const fulfil = hub.workflow(
  createWorkflow({
    name: 'fulfil',
    steps: [
      { name: 'pick', handler: ({ payload }: StepCtx<{ items: string[] }>) => ({ parcels: payload.items.length }) },
      {
        name: 'ship',
        retry: { maxAttempts: 5 },
        timeoutMs: 2_000,
        handler: ({ payload, idempotencyKey }: StepCtx<{ parcels: number }>) =>
          `${payload.parcels} x ${idempotencyKey}`,
      },
      { name: 'tell', handler: ({ payload, workflow }) => ({ order: workflow.input, tracking: payload }) },
    ],
  }),
);
await hub.start();

const run = await hub.startWorkflow(fulfil, { items: ['teapot', 'cup'] });
console.log(JSON.stringify(await run.result()));
await hub.stop();
