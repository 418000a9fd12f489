import { Pool } from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { deferred } from '../../../hub/hub.fixture.js';
import { envelope } from '../../contract/envelope.js';
import { PendingEventsError } from '../../errors.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import type { PostgresPool } from '../postgres-options.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { type PostgresTransport, postgresTransport } from '../postgres-transport.js';

const { admin, url } = await startTestPostgres();
const pool = new Pool({ connectionString: url });
afterAll(() => pool.end());

/** Consumes events of these types, and returns the list of those that it took. */
async function consume(shop: TransportManager, types: readonly string[]): Promise<string[]> {
  const taken: string[] = [];
  onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
  await shop.start({
    subscriptions: types.map((type) => ({ type })),
    concurrency: 10_000,
    onDelivery: (delivery) => {
      taken.push(delivery.envelope.type);
      void Promise.resolve(delivery.commit({ status: 'completed', durationMs: 1, followUps: [], result: 'null' }));
    },
  });
  return taken;
}

function connect(transport: PostgresTransport): TransportManager {
  return transport.connect({ service: 'shop', logger: silentLogger });
}

/** Resolves when a transaction waits for another one. */
async function untilOneWaits(): Promise<void> {
  const waiting = async (): Promise<number> =>
    Number((await admin.query('SELECT count(*) AS n FROM pg_locks WHERE NOT granted')).rows[0]?.['n']);
  await expect.poll(waiting).toBeGreaterThan(0);
}

it('an event whose emit is under way is not left behind by retire', async () => {
  const transport = postgresTransport({ pool, schema: 'retired' });
  const shop = connect(transport);
  await consume(shop, ['order']);
  await shop.close({ drainMs: 0 });
  const [sent, commit] = [deferred(), deferred()];
  const slow: PostgresPool = {
    connect: (callback) => pool.connect(callback),
    async query(statement, values) {
      if (typeof statement === 'string' || !statement.text.includes('.accept(')) return pool.query(statement, values);
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const result = await client.query(statement);
        sent.resolve();
        await commit.promise;
        await client.query('COMMIT');
        return result;
      } finally {
        client.release();
      }
    },
  };
  const web = postgresTransport({ pool: slow, schema: 'retired' }).connect({ service: 'web', logger: silentLogger });
  const publishing = web.publish([envelope('order')]);
  await sent.promise;
  const retiring = transport.retire('shop');
  retiring.catch(() => {});
  await untilOneWaits();
  commit.resolve();
  await publishing;
  await expect(retiring).rejects.toThrow(PendingEventsError);
});

it('a claim that waits for a pause starts nothing of its types', async () => {
  const transport = postgresTransport({ pool, schema: 'paused', pollIntervalMs: 600_000 });
  const shop = connect(transport);
  const taken = await consume(shop, ['held', 'free']);
  const client = await admin.connect();
  onTestFinished(() => client.release());
  await client.query('BEGIN');
  await client.query(`SELECT paused.pause('shop', 1, '["held"]')`);
  await shop.publish([envelope('held'), envelope('free')]);
  await untilOneWaits();
  await client.query('COMMIT');
  await expect.poll(() => taken).toEqual(['free']);
});

it('events of more types than a notification can name are accepted and taken', async () => {
  const types = Array.from({ length: 2_000 }, (_, n) => `a type with a number, which is ${n}`);
  const transport = postgresTransport({ pool, schema: 'many', emitTimeoutMs: 60_000 });
  const taken = await consume(connect(transport), types);
  const web = transport.connect({ service: 'web', logger: silentLogger });
  await web.publish(types.map((type) => envelope(type)));
  await expect.poll(() => taken.length, { timeout: 60_000 }).toBe(types.length);
  expect(new Set(taken)).toEqual(new Set(types));
});
