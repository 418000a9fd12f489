import type { Hub } from 'hubline';
import { Pool } from 'pg';
import { type Orders, orderPlaced } from './orders.js';

export function ordersWithPg(connectionString: string, hub: Pick<Hub, 'emit'>): Orders {
  const pool = new Pool({ connectionString });
  return {
    async place(order) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query('INSERT INTO orders (id, total) VALUES ($1, $2)', [order.id, order.total]);
        await hub.emit(orderPlaced, order, { tx: client });
        await client.query('COMMIT');
        client.release();
      } catch (error) {
        // Ends the transaction with its connection.
        client.release(true);
        throw error;
      }
    },
    close: () => pool.end(),
  };
}
