import { createEvent, createHub, createWorkflow, memoryTransport, type RunCtx } from 'hubline';
import { createFakeClock } from 'hubline/testing';

const paid = createEvent<{ order: string }>({ type: 'order.paid', key: ({ order }) => order });
const clock = createFakeClock();
const hub = createHub({ transport: memoryTransport({ clock }) });
const fulfil = hub.workflow(
  createWorkflow({
    name: 'fulfil',
    run: async ({ input, step }: RunCtx<{ order: string }>) => {
      const payment = await step.waitForEvent('paid', paid, { key: input.order, timeoutMs: 2 * 86_400_000 });
      return payment === null ? `${input.order} expired` : `${payment.order} shipped`;
    },
  }),
);
await hub.start();
const first = await hub.startWorkflow(fulfil, { order: 'A-1' });
const second = await hub.startWorkflow(fulfil, { order: 'A-2' });
await clock.settle();
await hub.emit(paid, { order: 'A-1' });
await clock.settle();
await clock.advance(2 * 86_400_000);
console.log(await first.result(), await second.result());
await hub.stop();
