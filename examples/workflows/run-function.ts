import { createHub, createWorkflow, type RunCtx } from 'hubline';

interface Order {
  readonly id: string;
  readonly items: readonly string[];
}

const hub = createHub();
const confirmed = hub.event<{ by: string }>({ type: 'order.confirmed' });
hub.event<{ id: string }>({
  type: 'confirmation.requested',
  handler: ({ emit }) => emit(confirmed, { by: 'Ada' }),
});

const invoice = hub.workflow(
  createWorkflow({
    name: 'invoice',
    run: ({ input, step }: RunCtx<Order>) => step.run('write', () => `I-${input.id}`),
  }),
);
const fulfil = hub.workflow(
  createWorkflow({
    name: 'fulfil',
    run: async ({ input, step }: RunCtx<Order>) => {
      const [parcels, number] = await Promise.all([
        step.map('pack', input.items, (item) => `box of ${item}`, { concurrency: 2 }),
        step.invoke('invoice', invoice, input),
      ]);
      // The wait begins before the step that provokes its event.
      const reply = step.waitForEvent('confirmed', confirmed, { timeoutMs: 2 * 86_400_000 });
      await step.emit('ask', 'confirmation.requested', { id: input.id });
      const confirmation = await reply;
      if (confirmation === null) return { status: 'expired' as const };
      await step.sleep('cooling-off', 10);
      return { status: 'shipped' as const, parcels, number, by: confirmation.by };
    },
  }),
);
await hub.start();

const run = await hub.startWorkflow(fulfil, { id: '7', items: ['teapot', 'cup'] });
console.log(JSON.stringify(await run.result()));
await hub.stop();
