import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Pool } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../../../hub/create-hub.js';
import { silentLogger } from '../../transport.js';
import { resolvePostgresOptions } from '../postgres-options.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { postgresTransport } from '../postgres-transport.js';
import { Database } from './database.js';

const { admin, url } = await startTestPostgres();

function newPool(): Pool {
  const pool = new Pool({ connectionString: url });
  onTestFinished(() => pool.end());
  return pool;
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}

test('an introspection is one statement, and one for the pauses', async () => {
  const pool = newPool();
  // Statements of the other hub, such as heartbeats, have a pool of their own.
  const shop = createHub({ transport: postgresTransport({ pool: newPool() }) });
  const observer = createHub({ transport: postgresTransport({ pool }), observer: true });
  for (const hub of [shop, observer]) onTestFinished(async () => void (await hub.stop()));
  shop.event({ type: 'order', handler: () => {} });
  await shop.start();
  await observer.start();
  const statements = vi.spyOn(pool, 'query');
  await observer.introspect();
  // It has learned of the types.
  statements.mockClear();
  const { events } = await observer.introspect();
  expect(events.map(({ type }) => type)).toEqual(['order']);
  const texts = statements.mock.calls.map(([text]) => String(text)).sort();
  expect(texts).toHaveLength(2);
  expect(texts[0]).toContain('kv_get');
  expect(texts[1]).toMatch(/overview.*page_schedules/);
});

test('a read with an argument that the server refuses fails alone', async () => {
  const { lookup } = postgresTransport({ pool: newPool() }).connect({ service: 'shop', logger: silentLogger });
  const results = await Promise.allSettled([lookup.find('an id'), lookup.find('an\0id'), lookup.recent('order')]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('a read that the server cancels fails alone', async () => {
  const { lookup } = postgresTransport({ pool: newPool() }).connect({ service: 'shop', logger: silentLogger });
  const { rows } = await admin.query("SELECT pg_get_functiondef('hubline.keepers(text)'::regprocedure) AS text");
  onTestFinished(async () => void (await admin.query(String(rows[0]?.['text']))));
  await admin.query(`CREATE OR REPLACE FUNCTION hubline.keepers(p_id text) RETURNS json LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'query_canceled'; END $$`);
  const results = await Promise.allSettled([lookup.find('an id'), lookup.kept('an id'), lookup.recent('order')]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('a key-value is read beside a read of events that waits', async () => {
  const { lookup, kv } = postgresTransport({ pool: newPool() }).connect({ service: 'shop', logger: silentLogger });
  await kv.set('key', 'value');
  const blocker = await admin.connect();
  await blocker.query('BEGIN');
  await blocker.query('LOCK TABLE hubline.events');
  const events = lookup.find('an id');
  try {
    expect(await kv.get('key')).toBe('value');
  } finally {
    await blocker.query('ROLLBACK');
    blocker.release();
  }
  expect(await events).toEqual([]);
});

test('statements of other sequences of reads leave nothing in memory', async () => {
  const database = new Database(resolvePostgresOptions({ pool: newPool() }));
  const readSequences = async (from: number, to: number): Promise<void> => {
    for (let sequence = from; sequence < to; sequence += 1) {
      const reads = Array.from({ length: 20 }, (_, bit) =>
        database.read((sequence >> bit) % 2 === 1 ? 'lock_retry_ms' : 'now_ms', []),
      );
      await Promise.all(reads);
    }
  };
  await readSequences(0, 100);
  const before = heapAfterCollection();
  await readSequences(100, 1_100);
  // Some 1.3 kB each if their texts stayed.
  expect(heapAfterCollection() - before).toBeLessThan(500_000);
});
