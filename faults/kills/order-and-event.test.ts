import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createHub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { orderPlaced, tables } from '../../examples/order-and-event/orders.js';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { programOf } from '../workers/program.js';
import { isLong, until } from '../workers/scene.js';

const kills = isLong ? 200 : 6;
const committed = 3;
const clients = ['pg', 'drizzle', 'prisma'];
// Each process starts after the death of the one before.
const timeout = 60_000 + kills * 10_000;

it(`an order has its event, and an event its order, whichever of ${kills} processes dies between the two writes`, {
  timeout,
}, async () => {
  const { url, release } = await startPostgresServer();
  onTestFinished(release);
  const pool = new Pool({ connectionString: url });
  onTestFinished(() => pool.end());
  await pool.query(tables);
  const handled: string[] = [];
  const hub = createHub({ service: 'shop', transport: postgresTransport({ pool }) });
  hub.event(orderPlaced, { handler: ({ payload }) => void handled.push(payload.id) });
  await hub.start();
  onTestFinished(() => hub.stop().then(() => {}));

  for (let kill = 0; kill < kills; kill += 1) {
    const side = Math.floor(kill / clients.length) % 2 === 0 ? 'before' : 'after';
    const args = [url, clients[kill % clients.length] ?? '', `${committed}`, side];
    const child = fork(programOf('order-worker'), args, { execArgv: [] });
    const [, signal] = await once(child, 'exit');
    expect(signal, `end of a process with ${args.slice(1).join(' ')}`).toBe('SIGKILL');
  }
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM orders');
  expect(rows).toHaveLength(kills * committed);
  await until('all events are handled', () => handled.length >= rows.length);
  expect(handled.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
  const exact = { received: kills * committed, completed: kills * committed, pending: 0 };
  await until('all are counted', async () => (await hub.metrics(orderPlaced.type)).completed >= exact.completed);
  expect(await hub.metrics(orderPlaced.type)).toMatchObject(exact);
});
