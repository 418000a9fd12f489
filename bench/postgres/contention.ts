import { Client, Pool } from 'pg';
import { createHub, type Hub } from '../../dist/index.js';
import { postgresTransport } from '../../dist/transports/postgres/index.js';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { countdown } from '../measuring/batches.js';
import { type Contender, compare, median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';
import { poolSize } from './postgres.js';

const concurrency = 64;
const portion = 640;
const portions = 30;
const clients = 32;
const commitsPerRound = 3_200;

/** Measures what other sessions of a server cost a hub: a reader whose transaction lasts, and the lock of NOTIFY. */
export async function postgresContention(): Promise<Row[]> {
  const server = await startPostgresServer({ isDurable: true });
  try {
    return [await besideReader(server.url), ...(await notifying(server.url))];
  } finally {
    await server.release();
  }
}

/** Events while a transaction as that of `pg_dump` keeps their dead rows, next to those of before it. */
async function besideReader(url: string): Promise<Row> {
  const [pool, reader] = [new Pool({ connectionString: url, max: poolSize }), new Client({ connectionString: url })];
  await reader.connect();
  const handled = countdown();
  const hub = createHub({ transport: postgresTransport({ pool, schema: 'dumped' }), concurrency });
  hub.event<number>({ type: 'order', handler: () => handled.count() });
  await hub.start();
  const rate = async (): Promise<number> => {
    const startedAt = performance.now();
    for (let sent = 0; sent < portion; sent += concurrency) {
      const done = handled.of(concurrency);
      await Promise.all(Array.from({ length: concurrency }, (_, n) => hub.emit('order', sent + n)));
      await done;
    }
    return (portion * 1_000) / (performance.now() - startedAt);
  };
  const rates = async (): Promise<number[]> => {
    const found: number[] = [];
    for (let n = 0; n < portions; n += 1) found.push(await rate());
    return found;
  };
  await rate();
  const before = median(await rates());
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await reader.query('SELECT count(*) FROM dumped.events');
  const beside = median((await rates()).slice(-portions / 3));
  await reader.query('COMMIT');
  await hub.stop();
  await reader.end();
  await pool.end();
  return {
    scenario: `Postgres: events beside a transaction that has lasted for ${portion * portions} of them`,
    unit: 'events/s',
    hubline: beside,
    peer: { name: 'before it', figure: before },
    target: { of: 'ratio', limit: 'at least', value: 0.5 },
  };
}

/** Emits in the transactions of 32 clients, whose commits notify in turn, next to those that do not notify. */
async function notifying(url: string): Promise<Row[]> {
  const hubs = await Promise.all([true, false].map((notify) => committing(url, notify)));
  const [hubline, silent] = hubs;
  if (hubline === undefined || silent === undefined) throw new Error('nothing to compare');
  const rows = await compare({
    scenario: `Postgres: commits of ${clients} clients with an emit each`,
    unit: 'commits/s',
    times: commitsPerRound,
    hubline: hubline.run,
    peers: [silent],
  });
  for (const { close } of hubs) await close();
  return rows;
}

async function committing(url: string, notify: boolean): Promise<Contender & { close(): Promise<void> }> {
  const pools = [poolSize, clients].map((max) => new Pool({ connectionString: url, max }));
  const [pool, callers] = pools;
  if (pool === undefined || callers === undefined) throw new Error('no pools');
  const schema = notify ? 'notified' : 'polled';
  const hub: Hub = createHub({ transport: postgresTransport({ pool, schema, notify }), concurrency });
  let left = 0;
  let finish = (): void => {};
  hub.event<number>({
    type: 'order',
    handler: () => {
      left -= 1;
      if (left === 0) finish();
    },
  });
  await hub.start();
  const commit = async (): Promise<void> => {
    const client = await callers.connect();
    await client.query('BEGIN');
    await hub.emit('order', 1, { tx: client });
    await client.query('COMMIT');
    client.release();
  };
  let drained = Promise.resolve();
  return {
    name: 'without notify',
    async run(times) {
      // The events of the last round are handled outside of the measurement.
      await drained;
      left += times;
      drained = new Promise((resolve) => {
        finish = resolve;
      });
      let open = times;
      const work = async (): Promise<void> => {
        while (open > 0) {
          open -= 1;
          await commit();
        }
      };
      await Promise.all(Array.from({ length: clients }, work));
    },
    async close() {
      await drained;
      await hub.stop();
      for (const each of pools) await each.end();
    },
  };
}
