import { createEvent, createHub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { Pool } from 'pg';

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] });
await pool.query('CREATE TABLE orders (id text PRIMARY KEY)');
const placed = createEvent<{ id: string }>({ type: 'order.placed' });
const hub = createHub({ service: 'shop', transport: postgresTransport({ pool, schema: 'order_and_event' }) });
const packed: string[] = [];
hub.event(placed, { handler: ({ payload }) => void packed.push(payload.id) });
await hub.start();

async function place(id: string, isRefused: boolean): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('INSERT INTO orders (id) VALUES ($1)', [id]);
    await hub.emit(placed, { id }, { tx: client });
    await client.query(isRefused ? 'ROLLBACK' : 'COMMIT');
  } finally {
    client.release();
  }
}
await place('A-1', true);
await place('A-2', false);
while ((await hub.metrics('order.placed')).completed === 0) await new Promise((resolve) => setTimeout(resolve, 10));
const { rows } = await pool.query('SELECT id FROM orders');
console.log(JSON.stringify({ stored: rows.map(({ id }) => id), packed }));
await hub.stop();
await pool.end();
