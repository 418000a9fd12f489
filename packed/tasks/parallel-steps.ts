import { createHub, createWorkflow, type RunCtx, WorkflowFailedError } from 'hubline';

const hub = createHub({ logger: false });
const price = hub.workflow(
  createWorkflow({
    name: 'price',
    run: ({ input, step }: RunCtx<{ item: string }>) => step.run('look-up', () => input.item.length * 100),
  }),
);
const order = hub.workflow(
  createWorkflow({
    name: 'order',
    run: async ({ input, step }: RunCtx<{ items: string[] }>) => {
      const boxes = await step.map('pack', input.items, (item) => item.toUpperCase(), { concurrency: 2 });
      const cents = await Promise.all(input.items.map((item, index) => step.invoke(`price-${index}`, price, { item })));
      if (cents.length === 0) throw new Error('nothing was ordered');
      return { boxes, cents: cents.reduce((sum, each) => sum + each, 0) };
    },
  }),
);
await hub.start();
const run = await hub.startWorkflow(order, { items: ['cup', 'pot'] });
console.log(JSON.stringify(await run.result()));
const empty = await hub.startWorkflow(order, { items: [] });
await empty.result().catch((error: unknown) => {
  if (error instanceof WorkflowFailedError) console.log(error.failure.message);
});
await hub.stop();
