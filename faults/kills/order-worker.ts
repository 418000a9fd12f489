/**
 * Places orders as the example "order and event" does, and dies between the two writes of the last one. Takes the URL of
 * Postgres, the name of the client, the number of orders that commit, and the side of the emit on which it dies.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { createHub, type Hub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import type { Orders } from '../../examples/order-and-event/orders.js';
import { ordersWithDrizzle } from '../../examples/order-and-event/with-drizzle.js';
import { ordersWithPg } from '../../examples/order-and-event/with-pg.js';
import { ordersWithPrisma } from '../../examples/order-and-event/with-prisma.js';

const clients: Readonly<Record<string, (connectionString: string, hub: Pick<Hub, 'emit'>) => Orders>> = {
  pg: ordersWithPg,
  drizzle: ordersWithDrizzle,
  prisma: ordersWithPrisma,
};

const [, , url = '', name = '', committed = '', side] = process.argv;
const hub = createHub({ service: 'web', transport: postgresTransport({ connectionString: url }) });
await hub.start();

let left = Number(committed);
const die = (): boolean => process.kill(process.pid, 'SIGKILL');
const emit: Hub['emit'] = async (...args: Parameters<Hub['emit']>) => {
  const isLast = left === 0;
  left -= 1;
  // The order is written.
  if (isLast && side === 'before') die();
  const receipt = await hub.emit(...args);
  // The event is written too, and neither is committed.
  if (isLast) die();
  return receipt;
};
const orders = clients[name]?.(url, { emit });
while (orders !== undefined) await orders.place({ id: randomUUID(), total: 42 });
