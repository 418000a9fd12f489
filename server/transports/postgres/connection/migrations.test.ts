import { readFileSync } from 'node:fs';
import { Pool } from 'pg';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { silentLogger } from '../../transport.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { postgresTransport } from '../postgres-transport.js';
import { migrationScript } from './migrations.js';

const { admin, url } = await startTestPostgres();
const schema = 'least';
const role = 'hubline_app';
const pools: Pool[] = [];

afterAll(async () => {
  for (const pool of pools) await pool.end();
});

beforeEach(async () => {
  await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await admin.query(`DO $$ BEGIN CREATE ROLE ${role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`);
});

function poolOf(user: string): Pool {
  const pool = new Pool({ connectionString: url.replace('postgres@', `${user}@`) });
  pool.on('error', () => {});
  pools.push(pool);
  return pool;
}

function connect(pool: Pool, migrate: boolean): ReturnType<ReturnType<typeof postgresTransport>['connect']> {
  return postgresTransport({ pool, schema, migrate }).connect({ service: 'shop', logger: silentLogger });
}

it('runs with the privileges that the docs list, on tables that another role has created', async () => {
  await admin.query(migrationScript(schema));
  const [, grants = ''] = /```sql\n(.*?)```/s.exec(readFileSync('docs/postgres.md', 'utf8')) ?? [];
  expect(grants).toContain('GRANT USAGE ON SCHEMA hubline TO shop;');
  await admin.query(grants.replaceAll('SCHEMA hubline', `SCHEMA ${schema}`).replaceAll('TO shop', `TO ${role}`));
  const shop = connect(poolOf(role), true);
  let resolve = (_: string): void => {};
  const handled = new Promise<string>((settle) => {
    resolve = settle;
  });
  await shop.start({
    subscriptions: [{ type: 'order', retainsRuns: true }],
    concurrency: 2,
    onDelivery: (delivery) => {
      void (async () => {
        await delivery.checkpoint('step', '1', [envelope('mail')]);
        resolve(String(await delivery.commit({ status: 'completed', durationMs: 1, followUps: [], result: '1' })));
      })();
    },
  });
  await shop.publish([envelope('order')]);
  expect(await handled).toBe('ok');
  await shop.kv.set('key', 'value');
  await shop.log.append('log', ['entry'], { maxEntries: 10, maxBytes: 1_000, maxAgeMs: 60_000 });
  expect((await shop.counts.get(['order']))[0]?.total).toMatchObject({ received: 1, completed: 1 });
  await shop.close({ drainMs: 1_000 });
});

it('refuses missing tables with migrate: false, and names the command', async () => {
  const shop = connect(poolOf('postgres'), false);
  await expect(shop.publish([envelope('order')])).rejects.toThrow('npx hubline migrate');
});

it('refuses the tables of a later version', async () => {
  await admin.query(migrationScript(schema));
  await admin.query(`INSERT INTO ${schema}.migrations VALUES (99)`);
  const shop = connect(poolOf('postgres'), true);
  await expect(shop.publish([envelope('order')])).rejects.toMatchObject({ code: 'ERR_UNEXPECTED_DATA' });
});

it('lets one of many processes create the tables', async () => {
  const pool = poolOf('postgres');
  const all = await Promise.all(Array.from({ length: 8 }, () => connect(pool, true).publish([envelope('order')])));
  expect(all.flat()).toHaveLength(8);
  const { rows } = await admin.query(`SELECT count(*)::int AS n FROM ${schema}.migrations`);
  expect(rows).toEqual([{ n: 1 }]);
});
