import { z } from 'zod';

/** Definition that the web process and the worker share: the type, its schema and its deduplication window. */
export const orderPlaced = {
  type: 'order.placed',
  schema: z.object({ id: z.string(), items: z.array(z.string()).min(1) }),
  dedupeWindowMs: 3_600_000,
};
