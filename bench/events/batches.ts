import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { createHub, type Hub, type Transport } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { sqliteTransport } from '../../dist/transports/sqlite/index.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { batch, countdown } from '../measuring/batches.js';
import { type Contender, compare } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

interface Reading {
  readonly sensor: string;
  readonly value: number;
}

/** Measures a handler that stores what it receives in a database, in one transaction per call: with batches and without. */
export async function batches(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-bench-'));
  const server = await startRedisServer();
  try {
    return [
      ...(await compared('Redis', folder, () => redisTransport({ url: server.url, prefix: randomUUID() }))),
      ...(await compared('SQLite', folder, () => sqliteTransport({ file: join(folder, `${randomUUID()}.db`) }))),
    ];
  } finally {
    await server.release();
    rmSync(folder, { recursive: true });
  }
}

async function compared(name: string, folder: string, createTransport: () => Transport): Promise<Row[]> {
  const store = new Store(join(folder, `${name}.db`));
  const batched = await storing(store, createTransport(), true);
  const single = await storing(store, createTransport(), false);
  const rows = await compare({
    scenario: `${name}: a batch of ${batch} that is stored in one transaction`,
    unit: 'events/s',
    times: 2_000,
    hubline: batched.run,
    peers: [
      { name: `${batch} events, one each`, run: single.run, target: { of: 'ratio', limit: 'at least', value: 3 } },
    ],
  });
  for (const { hub } of [batched, single]) await hub.stop();
  store.close();
  return rows;
}

/** Table of an application. */
class Store {
  readonly #database: InstanceType<typeof DatabaseSync>;

  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    this.#database.exec('CREATE TABLE readings (sensor TEXT NOT NULL, value REAL NOT NULL)');
  }

  insert(readings: readonly Reading[]): void {
    this.#database.exec('BEGIN');
    const insert = this.#database.prepare('INSERT INTO readings VALUES (?, ?)');
    for (const { sensor, value } of readings) insert.run(sensor, value);
    this.#database.exec('COMMIT');
  }

  close(): void {
    this.#database.close();
  }
}

async function storing(
  store: Store,
  transport: Transport,
  isBatched: boolean,
): Promise<{ readonly hub: Hub; readonly run: Contender['run'] }> {
  const hub = createHub({ transport });
  const stored = countdown();
  const keep = (readings: readonly Reading[]): void => {
    store.insert(readings);
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
    async run(times) {
      const done = stored.of(times);
      for (let from = 0; from < times; from += batch) {
        const readings = Array.from({ length: batch }, (_, index) => ({ sensor: `s${index}`, value: from }));
        await hub.emitMany<Reading>('reading', readings);
      }
      await done;
    },
  };
}
