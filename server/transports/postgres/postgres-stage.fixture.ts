import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll } from 'vitest';
import { startPostgresServer } from '../../../scripts/postgres-server.js';
import type { ContractHarness } from '../contract/contract-stage.js';
import { silentLogger } from '../transport.js';
import type { PostgresTransportOptions } from './postgres-options.js';
import { postgresTransport } from './postgres-transport.js';

/** Postgres server of a test file. */
export interface TestPostgres {
  readonly url: string;
  /** Pool that no transport uses. */
  readonly admin: Pool;
  /** Creates a transport whose tables are empty. */
  harness(options?: Omit<PostgresTransportOptions, 'connectionString' | 'pool'>): Promise<ContractHarness>;
}

/** Starts a Postgres server, which ends with the test file. */
export async function startTestPostgres(): Promise<TestPostgres> {
  const server = await startPostgresServer();
  const [admin, pool] = [new Pool({ connectionString: server.url }), new Pool({ connectionString: server.url })];
  for (const each of [admin, pool]) each.on('error', () => {});
  afterAll(async () => {
    await admin.end();
    await pool.end();
    await server.release();
  });
  const schema = 'hubline';
  return {
    url: server.url,
    admin,
    async harness(options = {}) {
      await emptyTables(admin, schema);
      const transport = postgresTransport({ schema, emitTimeoutMs: 60_000, ...options, pool });
      return {
        connect: (service) => transport.connect({ service, logger: silentLogger }),
        advance: (ms) => delay(ms),
        now: () => serverTime(admin),
        release: async () => {},
      };
    },
  };
}

async function emptyTables(admin: Pool, schema: string): Promise<void> {
  const { rows } = await admin.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema]);
  const tables = rows
    .map(({ tablename }) => String(tablename))
    .filter((name) => !['identity', 'migrations'].includes(name));
  if (tables.length > 0) await admin.query(tables.map((name) => `DELETE FROM "${schema}"."${name}"`).join(';'));
}

async function serverTime(admin: Pool): Promise<number> {
  const { rows } = await admin.query('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now');
  return Number(rows[0]?.['now']);
}
