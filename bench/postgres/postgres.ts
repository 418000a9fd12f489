import { Logger, runMigrations, run as runWorker } from 'graphile-worker';
import { Pool } from 'pg';
import PgBoss from 'pg-boss';
import { createHub } from '../../dist/index.js';
import { postgresTransport } from '../../dist/transports/postgres/index.js';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { countdown, inBatches } from '../measuring/batches.js';
import { type Contender, compare } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row, Target } from '../measuring/row.js';

const payload = { id: 1, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] };
/** Sessions of a contender. */
export const poolSize = 10;

/** Contender with connections to close. */
export interface ClosableContender extends Contender {
  close(): Promise<void>;
}

/** Measures one process on its own Postgres with `fsync` on, next to other queues on the same server. */
export async function postgres(): Promise<Row[]> {
  const server = await startPostgresServer({ isDurable: true });
  try {
    return [
      ...(await handled(server.url, 64, 1_280)),
      ...(await handled(server.url, 16, 640)),
      ...(await handled(server.url, 1, 100)),
    ];
  } finally {
    await server.release();
  }
}

async function handled(url: string, concurrency: number, times: number): Promise<Row[]> {
  const hubline = await hublineHandled(url, concurrency);
  // The migration of a schema ends the workers of all others.
  for (const worker of [undefined, batching]) {
    await runMigrations({ connectionString: url, schema: graphileSchema(concurrency, worker) });
  }
  const peers = [
    await graphileHandled(url, concurrency),
    // To fetch and end jobs in batches gains nothing for one at a time.
    ...(concurrency > 1 ? [await graphileHandled(url, concurrency, batching)] : []),
    await bareHandled(
      url,
      concurrency,
      concurrency === 64 ? { of: 'ratio', limit: 'at least', value: 0.3 } : undefined,
    ),
    // It polls twice per second at most.
    ...(concurrency === 64 ? [await bossHandled(url, concurrency, { of: 'ratio', limit: 'at least', value: 1 })] : []),
  ];
  const rows = await compare({
    scenario: `Postgres: emit and handle, ${concurrency} at once`,
    unit: 'events/s',
    times,
    hubline: hubline.run,
    peers,
  });
  for (const { close } of [hubline, ...peers]) await close();
  return rows;
}

async function hublineHandled(url: string, concurrency: number): Promise<ClosableContender> {
  const done = countdown();
  const pool = new Pool({ connectionString: url, max: poolSize });
  const hub = createHub({ transport: postgresTransport({ pool, schema: `hub_${concurrency}` }), concurrency });
  hub.event({ type: 'order', handler: () => done.count() });
  await hub.start();
  return {
    name: 'hubline',
    async run(count) {
      const finished = done.of(count);
      await inBatches(count, () => hub.emit('order', payload), concurrency);
      await finished;
    },
    async close() {
      await hub.stop();
      await pool.end();
    },
  };
}

/** Settings that its documentation recommends for many jobs. Ends that wait for others may be lost with the process. */
const batching = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

function graphileSchema(concurrency: number, worker: typeof batching | undefined): string {
  return `graphile_${concurrency}${worker === undefined ? '' : '_batching'}`;
}

async function graphileHandled(url: string, concurrency: number, worker?: typeof batching): Promise<ClosableContender> {
  const done = countdown();
  const pgPool = new Pool({ connectionString: url, max: poolSize });
  const runner = await runWorker({
    pgPool,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    schema: graphileSchema(concurrency, worker),
    taskList: { order: async () => done.count() },
    ...(worker && { preset: { worker } }),
  });
  return {
    name: withVersion('graphile-worker') + (worker === undefined ? '' : ', in batches'),
    target: { of: 'ratio', limit: 'at least', value: worker === undefined ? 1 : 0.5 },
    async run(count) {
      const finished = done.of(count);
      await inBatches(count, () => runner.addJob('order', payload), concurrency);
      await finished;
    },
    async close() {
      await runner.stop();
      await pgPool.end();
    },
  };
}

async function bossHandled(url: string, concurrency: number, target: Target): Promise<ClosableContender> {
  const done = countdown();
  const boss = new PgBoss({ connectionString: url, max: poolSize, schema: `boss_${concurrency}` });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('order');
  const options = { batchSize: concurrency, pollingIntervalSeconds: 0.5 };
  await boss.work('order', options, async (jobs) => {
    for (const _ of jobs) done.count();
  });
  return {
    name: withVersion('pg-boss'),
    target,
    async run(count) {
      const finished = done.of(count);
      await inBatches(count, () => boss.send('order', payload), concurrency);
      await finished;
    },
    close: () => boss.stop({ graceful: false }),
  };
}

/** Inserts each turn's rows in one statement, claims with SKIP LOCKED, and deletes and counts in one transaction. */
async function bareHandled(url: string, concurrency: number, target: Target | undefined): Promise<ClosableContender> {
  const pool = new Pool({ connectionString: url, max: poolSize });
  const table = `bare_${concurrency}`;
  await pool.query(
    `CREATE TABLE ${table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, taken boolean NOT NULL DEFAULT false, payload text NOT NULL)`,
  );
  await pool.query(`CREATE TABLE ${table}_count (n bigint NOT NULL)`);
  await pool.query(`INSERT INTO ${table}_count VALUES (0)`);
  const claim = async (): Promise<number> => {
    const { rows } = await pool.query(
      `UPDATE ${table} SET taken = true WHERE id IN (SELECT id FROM ${table} WHERE NOT taken ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING id, payload`,
      [concurrency],
    );
    if (rows.length === 0) return 0;
    await pool.query(
      `WITH gone AS (DELETE FROM ${table} WHERE id = ANY($1) RETURNING id) UPDATE ${table}_count SET n = n + (SELECT count(*) FROM gone)`,
      [rows.map(({ id }) => id)],
    );
    return rows.length;
  };
  return {
    name: 'bare loop',
    ...(target && { target }),
    async run(count) {
      const text = JSON.stringify(payload);
      let left = count;
      const emitting = (async () => {
        for (let sent = 0; sent < count; sent += concurrency) {
          await pool.query(`INSERT INTO ${table} (payload) SELECT unnest($1::text[])`, [Array(concurrency).fill(text)]);
        }
      })();
      while (left > 0) left -= await claim();
      await emitting;
    },
    close: () => pool.end(),
  };
}
