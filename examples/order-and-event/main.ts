// Run: npx tsx examples/order-and-event/main.ts pg (or drizzle, or prisma)
import { randomUUID } from 'node:crypto';
import { createHub, createWorkflow } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { Pool } from 'pg';
import { orderPlaced, tables } from './orders.js';
import { ordersWithDrizzle } from './with-drizzle.js';
import { ordersWithPg } from './with-pg.js';
import { ordersWithPrisma } from './with-prisma.js';

const connectionString = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const clients = { pg: ordersWithPg, drizzle: ordersWithDrizzle, prisma: ordersWithPrisma };
const [name = 'pg'] = process.argv.slice(2);
const createOrders = name === 'drizzle' ? clients.drizzle : name === 'prisma' ? clients.prisma : clients.pg;

const pool = new Pool({ connectionString });
await pool.query(tables);

const hub = createHub({ service: 'shop', transport: postgresTransport({ pool }) });
hub.event(orderPlaced, {
  retry: { maxAttempts: 5 },
  handler: async ({ payload, transaction }) => {
    await transaction(async (client) => {
      await client.query('INSERT INTO revenue VALUES ($1, $2)', [payload.id, payload.total]);
    });
    console.log(`order placed: ${payload.total}`);
  },
});
const fulfil = createWorkflow({
  name: 'fulfil',
  trigger: orderPlaced,
  run: async ({ input, step }) => {
    await step.transaction('pack', async (client) => {
      await client.query('INSERT INTO parcels VALUES ($1)', [input.id]);
    });
    await step.run('announce', () => console.log('parcel packed'));
  },
});
hub.workflow(fulfil);
await hub.start();

const orders = createOrders(connectionString, hub);
await orders.place({ id: randomUUID(), total: 42 });
// An order that violates a constraint leaves no event either.
await orders.place({ id: randomUUID(), total: 2 ** 40 }).catch(() => console.log('order refused'));

process.once('SIGTERM', async () => {
  await orders.close();
  await hub.stop();
  await pool.end();
});
