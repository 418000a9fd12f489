import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { type Connection, defineQueue } from 'plainjob';
import { createHub, type Hub } from '../../dist/index.js';
import { sqliteTransport } from '../../dist/transports/sqlite/index.js';
import { batch, countdown, inBatches } from '../measuring/batches.js';
import { type Contender, compare } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';
import { sqliteRestart } from './sqlite-restart.js';
import { sqliteTurns } from './sqlite-turns.js';

type Level = 'normal' | 'full';

const payload = { id: 1, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] };

/** Measures events through a file: accepted, handled and recorded. */
export async function sqlite(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-bench-'));
  try {
    const normal = await hubline(join(folder, 'normal.db'), 'normal');
    const full = await hubline(join(folder, 'full.db'), 'full');
    const rows = [
      ...(await compare({
        scenario: `SQLite, synchronous normal: ${batch} events at once`,
        unit: 'events/s',
        times: 10_000,
        hubline: normal.run,
        peers: [plainjob(join(folder, 'plainjob.db'))],
      })),
      ...(await compare({
        scenario: `SQLite, synchronous full: ${batch} events at once`,
        unit: 'events/s',
        times: 10_000,
        hubline: full.run,
        peers: [bare(join(folder, 'batches.db'), batch)],
      })),
      ...(await compare({
        scenario: 'SQLite, synchronous full: one event at a time',
        unit: 'events/s',
        times: 500,
        hubline: full.runSingly,
        peers: [{ ...bare(join(folder, 'single.db'), 1), target: { of: 'ratio', limit: 'at least', value: 0.8 } }],
      })),
    ];
    for (const { hub } of [normal, full]) await hub.stop();
    return [...rows, ...(await sqliteTurns(folder)), ...(await sqliteRestart(folder))];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function hubline(
  file: string,
  synchronous: Level,
): Promise<{ readonly hub: Hub; readonly run: Contender['run']; readonly runSingly: Contender['run'] }> {
  const hub = createHub({ transport: sqliteTransport({ file, synchronous }) });
  const handled = countdown();
  const created = hub.event<typeof payload>({ type: 'order.created', handler: () => handled.count() });
  await hub.start();
  const emit = async (count: number): Promise<void> => {
    const done = handled.of(count);
    for (let left = count; left > 0; left -= 1) void hub.emit(created, payload);
    await done;
  };
  return {
    hub,
    async run(events) {
      for (let left = events; left > 0; left -= batch) await emit(batch);
    },
    async runSingly(events) {
      for (let left = events; left > 0; left -= 1) await emit(1);
    },
  };
}

/** Adds, takes and ends jobs without the pauses of its worker. On the same SQLite as Hubline. */
function plainjob(file: string): Contender {
  const queue = defineQueue({ connection: connectionTo(file), logger: silent });
  return {
    name: withVersion('plainjob'),
    run: (events) =>
      inBatches(events, async () => {
        queue.add('order.created', payload);
        const job = queue.getAndMarkJobAsProcessing('order.created');
        if (job !== undefined) queue.markJobAsDone(job.id);
      }),
    target: { of: 'ratio', limit: 'at least', value: 3 },
  };
}

const silent = { error() {}, warn() {}, info() {}, debug() {} };

/** Returns what `better()` of plainjob makes of a database of better-sqlite3, which needs a compiler to install. */
function connectionTo(file: string): Connection {
  const database = new DatabaseSync(file);
  const immediate = (fn: (...args: unknown[]) => unknown) => {
    const run = (...args: unknown[]): unknown => {
      database.exec('BEGIN IMMEDIATE');
      const result = fn(...args);
      database.exec('COMMIT');
      return result;
    };
    return Object.assign(run, { immediate: run });
  };
  return {
    driver: 'better-sqlite3',
    filename: file,
    pragma: (statement) => database.exec(`PRAGMA ${statement}`),
    exec: (statement) => database.exec(statement),
    prepare: (statement) => database.prepare(statement),
    transaction: immediate as unknown as Connection['transaction'], // the types of better-sqlite3 are not installed
    close: () => database.close(),
  };
}

/** Inserts rows in one transaction, and deletes them in another one. */
function bare(file: string, rows: number): Contender {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = full');
  database.exec('CREATE TABLE events (position INTEGER PRIMARY KEY, body TEXT NOT NULL)');
  const insert = database.prepare('INSERT INTO events VALUES (?, ?)');
  const remove = database.prepare('DELETE FROM events WHERE position = ?');
  const inTransaction = (act: (position: number) => unknown): void => {
    database.exec('BEGIN');
    for (let position = 0; position < rows; position += 1) act(position);
    database.exec('COMMIT');
  };
  return {
    name: 'bare insert and delete',
    async run(events) {
      for (let left = events; left > 0; left -= rows) {
        inTransaction((position) => insert.run(position, JSON.stringify(payload)));
        inTransaction((position) => remove.run(position));
      }
    },
  };
}
