import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import type { Hub } from 'hubline';
import { fromDrizzle } from 'hubline/postgres';
import { Pool } from 'pg';
import { type Orders, orderPlaced } from './orders.js';

const orders = pgTable('orders', { id: text().primaryKey(), total: integer().notNull() });

export function ordersWithDrizzle(connectionString: string, hub: Pick<Hub, 'emit'>): Orders {
  const pool = new Pool({ connectionString });
  const database = drizzle(pool);
  return {
    async place(order) {
      await database.transaction(async (tx) => {
        await tx.insert(orders).values(order);
        await hub.emit(orderPlaced, order, { tx: fromDrizzle(tx) });
      });
    },
    close: () => pool.end(),
  };
}
