import { createHub, createWorkflow } from 'hubline';
import { z } from 'zod';

const hub = createHub();
const fulfil = hub.workflow(
  createWorkflow({
    name: 'fulfil',
    input: z.object({ items: z.array(z.string()) }),
    steps: [
      { name: 'pick', handler: ({ payload }) => ({ parcels: payload.items.length }) },
      {
        name: 'ship',
        retry: { maxAttempts: 5 },
        timeoutMs: 2_000,
        handler: ({ payload, idempotencyKey }) => `${payload.parcels} x ${idempotencyKey}`,
      },
      { name: 'tell', handler: ({ payload, workflow }) => ({ order: workflow.input, tracking: payload }) },
    ],
  }),
);
await hub.start();

const run = await hub.startWorkflow(fulfil, { items: ['teapot', 'cup'] });
console.log(JSON.stringify(await run.result()));
await hub.stop();
