import { createHub } from 'hubline';
import { z } from 'zod';

const hub = createHub({ service: 'shop' });

const orderCreated = hub.event({
  type: 'order.created',
  schema: z.object({ id: z.string(), email: z.email() }),
  onSuccess: 'order.confirmed',
  handler: async ({ payload, emit }) => {
    await emit('stock.reserved', { order: payload.id });
    return { to: payload.email };
  },
});
hub.event<{ order: string }>({
  type: 'stock.reserved',
  // One at a time, and at most ten starts per second.
  concurrency: 1,
  rate: { max: 10, perMs: 1_000 },
  handler: ({ payload, depth }) => console.log(`reserved for ${payload.order}, ${depth} event deep`),
});
hub.event<{ to: string }>({
  type: 'order.confirmed',
  handler: ({ payload }) => console.log(`mail to ${payload.to}`),
});
await hub.start();

const order = { id: 'A-1', email: 'ada@example.com' };
const first = await hub.emit(orderCreated, order, { dedupeId: order.id });
const second = await hub.emit(orderCreated, order, { dedupeId: order.id });
console.log(`accepted once: ${second.deduplicated && second.id === first.id}`);

await hub.emit('order.created', { id: 'A-2', email: 'bob@example.com' }, { delayMs: 100 });
await hub.stop();

const { received, completed, deduplicated } = await hub.metrics('order.created');
console.log(`${received} received, ${completed} completed, ${deduplicated} deduplicated`);
