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

const { url } = await startTestPostgres();

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

test('an introspection is one statement', async () => {
  const pool = newPool();
  const transport = postgresTransport({ pool });
  const [shop, observer] = [createHub({ transport }), createHub({ transport, observer: true })];
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
  const reads = statements.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('overview'));
  expect(reads).toHaveLength(1);
  expect(reads[0]).toContain('page_schedules');
});

test('a read with an argument that the server refuses fails alone', async () => {
  const { lookup } = postgresTransport({ pool: newPool() }).connect({ service: 'shop', logger: silentLogger });
  const results = await Promise.allSettled([lookup.find('an id'), lookup.find('an\0id'), lookup.recent('order')]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
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
