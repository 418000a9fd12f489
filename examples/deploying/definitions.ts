import { createEvent } from 'hubline';
import { z } from 'zod';

export const order = z.object({ id: z.string(), items: z.array(z.string()).min(1) });

/** Definition that the web process and the worker share: the type, its schema and its deduplication window. */
export const orderPlaced = createEvent({ type: 'order.placed', schema: order, dedupeWindowMs: 3_600_000 });
