import { createEvent, createHub, createWorkflow, defineWorkflow, type RunCtx } from 'hubline';

interface Order {
  readonly id: string;
  readonly items: readonly string[];
}

const hub = createHub();
const confirmed = createEvent<{ id: string; by: string }>({ type: 'order.confirmed', key: ({ id }) => id });
hub.event<{ id: string }>({
  type: 'confirmation.requested',
  handler: ({ emit, payload: { id } }) => emit(confirmed, { id, by: 'Ada' }),
});

const invoice = hub.workflow(
  createWorkflow({
    name: 'invoice',
    run: ({ input, step }: RunCtx<Order>) => step.run('write', () => `I-${input.id}`),
  }),
);
// A run keeps the confirmations of its order from its start on: none is missed, whenever it comes.
const definition = defineWorkflow<Order, object>({
  name: 'fulfil',
  receives: [{ event: confirmed, key: ({ id }) => id }],
});
const fulfil = hub.workflow(
  createWorkflow(definition, {
    run: async ({ input, step }) => {
      const [parcels, number] = await Promise.all([
        step.map('pack', input.items, (item) => `box of ${item}`, { concurrency: 2 }),
        step.invoke('invoice', invoice, input),
      ]);
      await step.emit('ask', 'confirmation.requested', { id: input.id });
      const options = { key: input.id, timeoutMs: 2 * 86_400_000 };
      const confirmation = await step.waitForEvent('confirmed', confirmed, options);
      if (confirmation === null) return { status: 'expired' };
      await step.sleep('cooling-off', 10);
      return { status: 'shipped', parcels, number, by: confirmation.by };
    },
  }),
);
await hub.start();

const run = await hub.startWorkflow(fulfil, { id: '7', items: ['teapot', 'cup'] });
console.log(JSON.stringify(await run.result()));
await hub.stop();
