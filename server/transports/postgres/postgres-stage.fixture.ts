import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll } from 'vitest';
import { startPgBouncer } from '../../../scripts/pgbouncer.js';
import { startPostgresServer } from '../../../scripts/postgres-server.js';
import type { ContractHarness } from '../contract/contract-stage.js';
import { silentLogger } from '../transport.js';
import type { PostgresTransportOptions } from './postgres-options.js';
import { postgresTransport } from './postgres-transport.js';

/** Postgres server of a test file. */
export interface TestPostgres {
  readonly url: string;
  /** Pool of the server that no transport uses. */
  readonly admin: Pool;
  /** Creates a transport whose tables are empty. */
  harness(options?: Omit<PostgresTransportOptions, 'connectionString' | 'pool'>): Promise<ContractHarness>;
}

/**
 * Starts a Postgres server, which ends with the test file.
 *
 * @param poolMode mode of a PgBouncer between the transports and the server. @default none
 */
export async function startTestPostgres(poolMode?: 'session' | 'transaction'): Promise<TestPostgres> {
  const server = await startPostgresServer();
  const bouncer = poolMode === undefined ? undefined : await startPgBouncer(server.url, poolMode);
  const url = bouncer?.url ?? server.url;
  const [admin, pool] = [new Pool({ connectionString: server.url }), new Pool({ connectionString: url })];
  for (const each of [admin, pool]) each.on('error', () => {});
  afterAll(async () => {
    await admin.end();
    await pool.end();
    await bouncer?.release();
    await server.release();
  });
  const schema = 'hubline';
  return {
    url,
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
