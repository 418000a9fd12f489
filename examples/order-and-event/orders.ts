import { createEvent } from 'hubline';
import { z } from 'zod';

const order = z.object({ id: z.string(), total: z.number().int() });

export type Order = z.infer<typeof order>;

export const orderPlaced = createEvent({ type: 'order.placed', schema: order });

/** Orders in a table of the database that the hub uses. */
export interface Orders {
  place(order: Order): Promise<void>;
  close(): Promise<void>;
}

export const tables = `
  CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, total int NOT NULL);
  CREATE TABLE IF NOT EXISTS revenue (order_id text, cents int NOT NULL);
  CREATE TABLE IF NOT EXISTS parcels (order_id text);
`;
