import { Pool } from 'pg';
import { createHub } from '../../dist/index.js';
import { postgresTransport } from '../../dist/transports/postgres/index.js';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { countdown } from '../measuring/batches.js';
import type { Row } from '../measuring/row.js';
import { poolSize } from './postgres.js';

const tenths = 10;
const portion = 500;
const schema = 'growth';

/**
 * Measures a hub through which many events go: the time per event and the size of its tables in the last tenth, next to
 * the first. `GROWTH_EVENTS` is their number, 200,000 unless it is set; ten million take half an hour.
 */
export async function postgresGrowth(): Promise<Row[]> {
  const events = Number(process.env['GROWTH_EVENTS'] ?? 200_000);
  const server = await startPostgresServer({ isDurable: true });
  const pool = new Pool({ connectionString: server.url, max: poolSize });
  const handled = countdown();
  const hub = createHub({ transport: postgresTransport({ pool, schema }), concurrency: 64 });
  hub.event<{ n: number }>({ type: 'order', handler: () => handled.count() });
  try {
    await hub.start();
    const perTenth = Math.ceil(events / tenths / portion) * portion;
    const measured: { readonly us: number; readonly bytes: number }[] = [];
    for (let tenth = 0; tenth < tenths; tenth += 1) {
      const startedAt = performance.now();
      for (let sent = 0; sent < perTenth; sent += portion) {
        const done = handled.of(portion);
        await hub.emitMany<{ n: number }>(
          'order',
          Array.from({ length: portion }, (_, n) => ({ n: sent + n })),
        );
        await done;
      }
      const us = ((performance.now() - startedAt) * 1_000) / perTenth;
      const bytes = await sizeOfTables(pool);
      measured.push({ us, bytes });
      console.error(`${tenth + 1} of ${tenths} tenths: ${us.toFixed(0)} us per event, ${(bytes / 1e6).toFixed(0)} MB`);
    }
    const { received, failed } = await hub.metrics('order');
    if (received !== perTenth * tenths || failed > 0) throw new Error(`${received} events, of which ${failed} failed`);
    const [first, last] = [measured[0], measured.at(-1)];
    if (first === undefined || last === undefined) throw new Error('nothing was measured');
    const row = (what: string, unit: string, figure: number, before: number): Row => ({
      scenario: `Postgres: ${what}, the last of ${perTenth * tenths} events`,
      unit,
      hubline: figure,
      peer: { name: 'of the first tenth', figure: before },
      target: { of: 'ratio', limit: 'at most', value: 1.5 },
    });
    return [
      row('time per event', 'us', last.us, first.us),
      row('size of the tables', 'MB', last.bytes / 1e6, first.bytes / 1e6),
    ];
  } finally {
    await hub.stop();
    await pool.end();
    await server.release();
  }
}

/** Returns the size of all tables of the hub with their indexes, in bytes. */
async function sizeOfTables(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
    [schema],
  );
  return Number(rows[0]?.bytes);
}
