import { createEvent, defineWorkflow } from 'hubline';
import { z } from 'zod';

export const order = z.object({ id: z.string(), items: z.array(z.string()).min(1) });

export const orderPaid = createEvent({
  type: 'order.paid',
  schema: z.object({ orderId: z.string() }),
  key: ({ orderId }) => orderId,
});

const orderWithdrawn = createEvent({
  type: 'order.withdrawn',
  schema: z.object({ orderId: z.string(), isFinal: z.boolean() }),
  key: ({ orderId }) => orderId,
});

/** The workflow as the web process and the worker share it. */
export const fulfil = defineWorkflow({
  name: 'fulfil',
  service: 'fulfilment',
  input: order,
  output: z.object({ tracking: z.string() }),
  receives: [{ event: orderPaid, key: ({ id }) => id }],
  cancelOn: [{ event: orderWithdrawn, key: ({ id }) => id, when: ({ isFinal }) => isFinal }],
});
