import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { Pool } from 'pg';
import { createHub, type Hub, type Transport } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { sqliteTransport } from '../../dist/transports/sqlite/index.js';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { batch, countdown } from '../measuring/batches.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const backlog = 2_000;
const rounds = 5;

interface Reading {
  readonly sensor: string;
  readonly value: number;
}

/** Table of an application. */
interface Table {
  readonly name: string;
  /** Stores the readings in one transaction. */
  insert(readings: readonly Reading[]): Promise<void> | void;
}

/**
 * Measures a handler that stores what it receives in the database of an application, with batches and without: in
 * Postgres if several machines share the work, in a file if there is one.
 */
export async function batches(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-bench-'));
  const redis = await startRedisServer();
  const postgres = await startPostgresServer({ isDurable: true });
  const pool = new Pool({ connectionString: postgres.url, max: 10 });
  const database = new DatabaseSync(join(folder, 'readings.db'));
  try {
    return [
      ...(await compared('Redis', await inPostgres(pool), () =>
        redisTransport({ url: redis.url, prefix: randomUUID() }),
      )),
      ...(await compared('SQLite', inFile(database), () =>
        sqliteTransport({ file: join(folder, `${randomUUID()}.db`) }),
      )),
    ];
  } finally {
    database.close();
    await pool.end();
    await Promise.all([redis.release(), postgres.release()]);
    rmSync(folder, { recursive: true });
  }
}

async function compared(name: string, table: Table, createTransport: () => Transport): Promise<Row[]> {
  const batched = await storing(table, createTransport(), true);
  const single = await storing(table, createTransport(), false);
  const rates = { batched: [] as number[], single: [] as number[] };
  for (let round = 0; round <= rounds; round += 1) {
    const measured = { batched: await batched.drain(), single: await single.drain() };
    // The first round warms up.
    if (round === 0) continue;
    rates.batched.push(measured.batched);
    rates.single.push(measured.single);
  }
  for (const { hub } of [batched, single]) await hub.stop();
  return [
    {
      scenario: `${name}: a backlog of ${backlog} events, stored in ${table.name} ${batch} per call and transaction`,
      unit: 'events/s',
      hubline: median(rates.batched),
      peer: { name: 'one event per call and transaction', figure: median(rates.single) },
      target: { of: 'ratio', limit: 'at least', value: 3 },
    },
  ];
}

async function inPostgres(pool: Pool): Promise<Table> {
  await pool.query('CREATE TABLE readings (sensor text NOT NULL, value double precision NOT NULL)');
  return {
    name: 'Postgres',
    async insert(readings) {
      const columns = [readings.map(({ sensor }) => sensor), readings.map(({ value }) => value)];
      await pool.query('INSERT INTO readings SELECT * FROM unnest($1::text[], $2::float8[])', columns);
    },
  };
}

function inFile(database: InstanceType<typeof DatabaseSync>): Table {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec('CREATE TABLE readings (sensor TEXT NOT NULL, value REAL NOT NULL)');
  return {
    name: 'SQLite',
    insert(readings) {
      database.exec('BEGIN');
      const insert = database.prepare('INSERT INTO readings VALUES (?, ?)');
      for (const { sensor, value } of readings) insert.run(sensor, value);
      database.exec('COMMIT');
    },
  };
}

/** Hub that stores the events of a backlog. */
interface StoringHub {
  readonly hub: Hub;
  /** Emits a backlog while the type is paused. Resolves with the events per second from the resume to the last end. */
  drain(): Promise<number>;
}

async function storing(table: Table, transport: Transport, isBatched: boolean): Promise<StoringHub> {
  const hub = createHub({ transport });
  const stored = countdown();
  const keep = async (readings: readonly Reading[]): Promise<void> => {
    await table.insert(readings);
    for (const _ of readings) stored.count();
  };
  if (isBatched) {
    hub.event<Reading>({
      type: 'reading',
      batch: { max: batch, waitMs: 20 },
      handler: (events) => keep(events.map(({ payload }) => payload)),
    });
  } else {
    hub.event<Reading>({ type: 'reading', handler: ({ payload }) => keep([payload]) });
  }
  await hub.start();
  return {
    hub,
    async drain() {
      const done = stored.of(backlog);
      await hub.pause({ type: 'reading' }, { reason: 'a backlog', by: 'bench' });
      for (let from = 0; from < backlog; from += batch) {
        const readings = Array.from({ length: batch }, (_, index) => ({ sensor: `s${index}`, value: from }));
        await hub.emitMany<Reading>('reading', readings);
      }
      if ((await hub.metrics('reading')).pending !== backlog) throw new Error('a paused type has started');
      const startedAt = performance.now();
      await hub.resume({ type: 'reading' }, { by: 'bench' });
      await done;
      return (backlog / (performance.now() - startedAt)) * 1_000;
    },
  };
}
