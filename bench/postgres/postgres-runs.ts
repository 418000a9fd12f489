import { setTimeout as delay } from 'node:timers/promises';
import { Logger, run as runWorker } from 'graphile-worker';
import { Client, Pool } from 'pg';
import { createHub } from '../../dist/index.js';
import { postgresTransport } from '../../dist/transports/postgres/index.js';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { countdown, inBatches } from '../measuring/batches.js';
import { compare, median } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';
import { chainWorkflow, steps } from '../runs/chain-workflow.js';
import { type ClosableContender, poolSize } from './postgres.js';

const concurrency = 64;
const runsPerRound = 320;
const startsPerRound = 100;
const startRounds = 5;
const pauseMs = 10;
const types = Array.from({ length: 1_000 }, (_, n) => `type ${n}`);
const polls = 15;
const idleMs = 30_000;
const reportMs = 12_000;

/** Durable runs through Postgres next to jobs of graphile-worker, starts next to bare notifications, and reads. */
export async function postgresRuns(): Promise<Row[]> {
  const server = await startPostgresServer({ isDurable: true });
  try {
    return [
      ...(await stepsBesideJobs(server.url)),
      ...(await startsBesideNotifications(server.url)),
      ...(await introspected(server.url)),
      await idleQueries(),
    ];
  } finally {
    await server.release();
  }
}

async function stepsBesideJobs(url: string): Promise<Row[]> {
  const contenders = [await runOfSteps(url), await chainOfJobs(url)] as const;
  const [hubline, jobs] = contenders;
  const rows = await compare({
    scenario: `Postgres: a run of ${steps} steps, ${concurrency} at once`,
    unit: 'runs/s',
    times: runsPerRound,
    hubline: hubline.run,
    peers: [{ ...jobs, target: { of: 'ratio', limit: 'at least', value: 1 } }],
  });
  for (const { close } of contenders) await close();
  return rows;
}

async function runOfSteps(url: string): Promise<ClosableContender> {
  const done = countdown();
  const pool = new Pool({ connectionString: url, max: poolSize });
  const hub = createHub({ transport: postgresTransport({ pool, schema: 'runs' }), concurrency });
  const chain = hub.workflow(chainWorkflow(() => done.count()));
  await hub.start();
  return {
    name: 'hubline',
    async run(times) {
      const finished = done.of(times);
      await inBatches(times, (n) => hub.startWorkflow(chain, n), concurrency);
      await finished;
    },
    async close() {
      await hub.stop();
      await pool.end();
    },
  };
}

/** Jobs of which each adds the next one. */
async function chainOfJobs(url: string): Promise<ClosableContender> {
  const done = countdown();
  const pgPool = new Pool({ connectionString: url, max: poolSize });
  const runner = await runWorker({
    pgPool,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    schema: 'graphile_runs',
    taskList: {
      add: async (payload, { addJob }) => {
        const next = Number(payload) + 1;
        if (next < steps) await addJob('add', next);
        else done.count();
      },
    },
  });
  return {
    name: `${withVersion('graphile-worker')}, ${steps} jobs`,
    async run(times) {
      const finished = done.of(times);
      await inBatches(times, () => runner.addJob('add', 0), concurrency);
      await finished;
    },
    async close() {
      await runner.stop();
      await pgPool.end();
    },
  };
}

/**
 * Median time from an emit until its handler starts, in another process and in the same, next to a row whose commit notifies a
 * listener: one at a time, and the next one when the last has ended.
 */
async function startsBesideNotifications(url: string): Promise<Row[]> {
  const pools = [1, 2].map(() => new Pool({ connectionString: url, max: poolSize }));
  const [web, worker] = pools.map((pool) => createHub({ transport: postgresTransport({ pool, schema: 'starts' }) }));
  let started = (): void => {};
  web?.event({ type: 'order' });
  worker?.event({ type: 'order', handler: () => started() });
  await Promise.all([web?.start(), worker?.start()]);
  const [sender, listener] = [1, 2].map(() => new Client({ connectionString: url }));
  await Promise.all([sender?.connect(), listener?.connect()]);
  await sender?.query(
    'CREATE TABLE bare_notified (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text NOT NULL)',
  );
  await listener?.query('LISTEN bare');
  listener?.on('notification', () => started());
  const bare =
    "WITH added AS (INSERT INTO bare_notified (payload) VALUES ('{}') RETURNING id) SELECT pg_notify('bare', id::text) FROM added";
  const acts = [() => web?.emit('order', {}), () => worker?.emit('order', {}), () => sender?.query(bare)];
  const contenders = acts.map((act) => ({
    act,
    durations: [] as number[],
  }));
  for (let round = 0; round <= startRounds; round += 1) {
    for (const { act, durations } of contenders) {
      for (let n = 0; n < startsPerRound; n += 1) {
        const startedAt = performance.now();
        const start = new Promise<number>((resolve) => {
          started = () => resolve(performance.now() - startedAt);
        });
        const [duration] = await Promise.all([start, act()]);
        if (round > 0) durations.push(duration);
        // Meanwhile the outcome is stored.
        await delay(pauseMs);
      }
    }
  }
  for (const hub of [web, worker]) await hub?.stop();
  for (const each of [...pools, sender, listener]) await each?.end();
  const [elsewhere = 0, here = 0, figure = 0] = contenders.map(({ durations }) => median(durations));
  return [
    { where: 'another process', hubline: elsewhere },
    { where: 'the same process', hubline: here },
  ].map(({ where, hubline }) => ({
    scenario: `Postgres: from an emit to the start of its handler in ${where}`,
    unit: 'ms',
    hubline,
    peer: { name: 'a row and its NOTIFY to LISTEN', figure },
    target: { of: 'ratio', limit: 'at most', value: 1.5 },
  }));
}

/** Reads what three processes registered, while every type has new counts: the whole time, and that of the server. */
async function introspected(url: string): Promise<Row[]> {
  const pools = [1, 2, 3, 4].map(() => new Pool({ connectionString: url, max: poolSize }));
  const [observer, ...hubs] = pools.map((pool, n) =>
    createHub({ transport: postgresTransport({ pool, schema: 'introspected' }), observer: n === 0 }),
  );
  for (const hub of hubs) {
    for (const type of types) hub.event({ type, handler: () => {} });
    await hub.start();
  }
  await observer?.start();
  const [durations, served]: [number[], number[]] = [[], []];
  for (let time = 0; time < polls; time += 1) {
    await Promise.all(types.map((type) => hubs[0]?.emit(type, { id: 1 })));
    while (((await hubs[0]?.introspect())?.totals.metrics.pending ?? 0) > 0) await delay(100);
    const startedAt = performance.now();
    await observer?.introspect();
    durations.push(performance.now() - startedAt);
    const explained = await pools[0]?.query(
      'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT introspected.overview($1, $2, 10)',
      [types, []],
    );
    served.push(Number(explained?.rows[0]?.['QUERY PLAN'][0]['Execution Time']));
  }
  for (const hub of [observer, ...hubs]) await hub?.stop();
  for (const pool of pools) await pool.end();
  const row = (what: string, times: readonly number[]): Row => ({
    scenario: `Postgres: ${what} 1,000 types of 3 processes, all changed`,
    unit: 'ms',
    hubline: median(times),
    target: { of: 'figure', limit: 'at most', value: 50 },
  });
  return [row('introspect', durations), row('time of the server to introspect', served)];
}

/** Transactions of a server that has none of its own, while one process waits for work. */
async function idleQueries(): Promise<Row> {
  const server = await startPostgresServer({ isDurable: true, settings: ['autovacuum=off'] });
  const { url } = server;
  // A session that begins is a transaction too.
  const pool = new Pool({ connectionString: url, max: poolSize, idleTimeoutMillis: 0 });
  const admin = new Client({ connectionString: url });
  await admin.connect();
  const hub = createHub({ transport: postgresTransport({ pool, schema: 'idle' }) });
  hub.event({ type: 'order', handler: () => {} });
  await hub.start();
  const transactions = async (): Promise<number> => {
    // A session that has nothing to do reports within ten seconds what it did.
    await delay(reportMs);
    const { rows } = await admin.query('SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()');
    return Number(rows[0]?.['xact_commit']);
  };
  const before = await transactions();
  await delay(idleMs);
  const after = await transactions();
  await hub.stop();
  await pool.end();
  await admin.end();
  await server.release();
  return {
    scenario: 'Postgres: transactions of an idle process',
    unit: 'per s',
    hubline: ((after - before) * 1_000) / (idleMs + reportMs),
    target: { of: 'figure', limit: 'at most', value: 1 },
  };
}
