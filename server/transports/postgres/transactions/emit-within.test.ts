import { drizzle } from 'drizzle-orm/node-postgres';
import knexOf from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../../../hub/create-hub.js';
import type { Hub } from '../../../hub/hub.js';
import { createWorkflow } from '../../../hub/runs/workflow.js';
import {
  InvalidOptionError,
  MissingTransactionError,
  OtherDatabaseError,
  TransactionUnsupportedError,
} from '../../../index.js';
import type { SqlTransaction } from '../../delivery.js';
import { memoryTransport } from '../../memory/memory-transport.js';
import type { PostgresTransportOptions } from '../postgres-options.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { postgresTransport } from '../postgres-transport.js';
import { fromDrizzle, fromKnex, fromKysely } from './adapters.js';

const postgres = await startTestPostgres();
const pool = new Pool({ connectionString: postgres.url });
afterAll(() => pool.end());
// A schema of its own, whose tables are empty.
let schema = '';
beforeEach(() => {
  schema = `tx_${Math.random().toString(36).slice(2)}`;
});

async function startHub(
  register: (hub: Hub) => void,
  options: Omit<PostgresTransportOptions, 'pool' | 'connectionString'> = {},
  service = 'shop',
): Promise<Hub> {
  const hub = createHub({ service, logger: false, transport: postgresTransport({ pool, schema, ...options }) });
  register(hub);
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  return hub;
}

/** Runs statements in a transaction of a client of its own. */
async function transact<T>(
  run: (client: SqlTransaction) => Promise<T>,
  end: 'COMMIT' | 'ROLLBACK' = 'COMMIT',
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await run(client);
    await client.query(end);
    return result;
  } finally {
    client.release(true);
  }
}

const received = async (hub: Hub, type = 'placed'): Promise<number> => (await hub.metrics(type)).received;

describe('an emit in a transaction of the caller', () => {
  test('does not wait for the index of its tags, which takes another client of the pool', async () => {
    const hub = await startHub((it) => it.event({ type: 'tagged', tags: () => ['order:1'], handler: () => {} }));
    const { log } = hub.transport;
    const append = log.append.bind(log);
    let free: (() => void) | undefined;
    const released = new Promise<void>((resolve) => {
      free = resolve;
    });
    vi.spyOn(log, 'append').mockImplementation(async (...entries) => {
      await released;
      return append(...entries);
    });
    const { id } = await transact((tx) => hub.emit('tagged', {}, { tx }));
    free?.();
    await vi.waitFor(async () =>
      expect((await hub.search({ tag: 'order:1' })).events).toMatchObject([{ id, status: 'completed' }]),
    );
  });

  test('is seen if and when the transaction commits', async () => {
    const handled: unknown[] = [];
    const hub = await startHub((it) =>
      it.event({ type: 'placed', handler: ({ payload }) => void handled.push(payload) }),
    );
    const client = await pool.connect();
    onTestFinished(() => client.release(true));
    await client.query('BEGIN');
    const receipt = await hub.emit('placed', { n: 1 }, { tx: client });
    expect(receipt).toEqual({ id: expect.any(String) });
    // Another event makes the processes look.
    await transact((tx) => hub.emit('placed', { n: 2 }, { tx }));
    await vi.waitFor(() => expect(handled).toEqual([{ n: 2 }]));
    expect(await received(hub)).toBe(1);
    await client.query('COMMIT');
    await vi.waitFor(() => expect(handled).toEqual([{ n: 2 }, { n: 1 }]));
    await vi.waitFor(async () => expect(await hub.find(receipt.id)).toMatchObject([{ status: 'completed' }]));
  });

  test('leaves nothing after a rollback: no count, no deduplication id', async () => {
    const hub = await startHub((it) => it.event({ type: 'placed', handler: () => {} }));
    await transact((tx) => hub.emit('placed', { n: 1 }, { tx, dedupeId: 'once' }), 'ROLLBACK');
    const { deduplicated } = await hub.emit('placed', { n: 2 }, { dedupeId: 'once' });
    expect(deduplicated).toBe(false);
    await vi.waitFor(async () => expect(await hub.metrics('placed')).toMatchObject({ received: 1, completed: 1 }));
    expect((await postgres.admin.query(`SELECT FROM ${schema}.inbox`)).rowCount).toBe(0);
  });

  test('is deduplicated when it is accepted, and resolves with its own id', async () => {
    const hub = await startHub((it) => it.event({ type: 'placed', handler: () => {} }));
    const first = await hub.emit('placed', {}, { dedupeId: 'once' });
    const second = await transact((tx) => hub.emit('placed', {}, { tx, dedupeId: 'once' }));
    expect(second.id).not.toBe(first.id);
    await vi.waitFor(async () => expect(await hub.metrics('placed')).toMatchObject({ received: 1, deduplicated: 1 }));
    expect(await hub.find(second.id)).toEqual([]);
  });

  test('has the order of the commits, whatever the order of the inserts', async () => {
    const handled: unknown[] = [];
    const hub = await startHub((it) =>
      it.event<{ n: number }>({
        type: 'placed',
        key: () => 'customer',
        concurrencyPerKey: 1,
        handler: ({ payload }) => void handled.push(payload.n),
      }),
    );
    const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
    onTestFinished(() => {
      for (const client of clients) client.release(true);
    });
    for (const [index, client] of clients.entries()) {
      await client.query('BEGIN');
      await hub.emit('placed', { n: index }, { tx: client });
    }
    for (const index of [2, 0, 1]) {
      await clients[index]?.query('COMMIT');
      await vi.waitFor(() => expect(handled).toContain(index));
    }
    expect(handled).toEqual([2, 0, 1]);
  });

  test('resolves waits, triggers workflows, and is replaced within a debounce window', async () => {
    const hub = await startHub((it) => {
      it.event({ type: 'placed', key: () => 'k' });
      it.event({ type: 'typed', key: () => 'k', debounceMs: 200, handler: () => {} });
      it.workflow(createWorkflow({ name: 'triggered', trigger: 'placed', run: async () => 'started' }));
      it.workflow(
        createWorkflow({
          name: 'waiting',
          run: async ({ step }) => step.waitForEvent('order', 'placed', { key: 'k' }),
        }),
      );
    });
    const waiting = await hub.startWorkflow('waiting', {});
    await vi.waitFor(async () => expect(await waiting.status()).toMatchObject({ status: 'suspended' }));
    await transact(async (tx) => {
      await hub.emit('placed', { n: 1 }, { tx });
      await hub.emitMany('typed', [{ n: 1 }, { n: 2 }, { n: 3 }], { tx });
    });
    expect(await waiting.result()).toEqual({ n: 1 });
    await vi.waitFor(async () => {
      expect(await hub.metrics('typed')).toMatchObject({ received: 1, completed: 1, deduplicated: 2 });
      expect((await hub.introspect()).workflows.find(({ name }) => name === 'triggered')?.metrics.completed).toBe(1);
    });
  });

  test('starts a run of which the handle knows the result', async () => {
    const hub = await startHub((it) =>
      it.workflow(createWorkflow({ name: 'fulfil', run: async ({ input }) => input })),
    );
    const run = await transact((tx) => hub.startWorkflow('fulfil', { n: 1 }, { tx }));
    expect(await run.result()).toEqual({ n: 1 });
    const none = await transact((tx) => hub.startWorkflow('fulfil', {}, { tx }), 'ROLLBACK');
    await expect(none.result()).rejects.toMatchObject({ code: 'ERR_UNKNOWN_RUN' });
  });

  test('is accepted without notifications, and with a codec, by a process of another service', async () => {
    const codec = {
      encode: (text: string) => Buffer.from(text).toString('base64'),
      decode: (text: string) => Buffer.from(text, 'base64').toString(),
    };
    const handled: unknown[] = [];
    const options = { notify: false, pollIntervalMs: 50, codec };
    await startHub(
      (it) => it.event({ type: 'placed', handler: ({ payload }) => void handled.push(payload) }),
      options,
      'mail',
    );
    const hub = await startHub((it) => it.event({ type: 'placed' }), options);
    await transact(async (tx) => {
      await hub.emit('placed', { secret: 'plain' }, { tx });
      const { rows } = await tx.query(`SELECT events FROM ${schema}.inbox`);
      expect(JSON.stringify(rows)).not.toContain('plain');
    });
    await vi.waitFor(() => expect(handled).toEqual([{ secret: 'plain' }]));
  });

  test('validates before its first statement', async () => {
    const query = vi.fn();
    const hub = await startHub((it) => {
      it.event({ type: 'placed' });
      it.event({ type: '€'.repeat(500) });
    });
    await expect(hub.emit('placed', { n: 1n }, { tx: { query } })).rejects.toMatchObject({
      code: 'ERR_PAYLOAD_NOT_JSON',
    });
    const longName = '€'.repeat(500);
    await expect(hub.emit(longName, {}, { tx: { query }, dedupeId: longName })).rejects.toThrow(InvalidOptionError);
    await expect(hub.emitMany('placed', [{ n: 'a' }, { n: 1n }], { tx: { query } })).rejects.toMatchObject({
      code: 'ERR_PAYLOAD_NOT_JSON',
    });
    // @ts-expect-error no transaction
    await expect(hub.emit('placed', {}, { tx: {} })).rejects.toThrow('tx of emit must be an open transaction');
    expect(query).not.toHaveBeenCalled();
  });

  test('is refused without a transaction', async () => {
    const hub = await startHub((it) => it.event({ type: 'placed', handler: () => {} }));
    await expect(hub.emit('placed', {}, { tx: pool })).rejects.toThrow(MissingTransactionError);
    await expect(hub.emit('placed', {}, { tx: fromDrizzle(drizzle(pool)) })).rejects.toThrow(MissingTransactionError);
    expect((await postgres.admin.query(`SELECT FROM ${schema}.inbox`)).rowCount).toBe(0);
  });

  test('is refused in a transaction of another database', async () => {
    const hub = await startHub((it) => it.event({ type: 'placed', handler: () => {} }));
    await postgres.admin.query(`CREATE DATABASE ${schema}`);
    const other = new Pool({ connectionString: Object.assign(new URL(postgres.url), { pathname: schema }).href });
    onTestFinished(() => other.end());
    const client = await other.connect();
    onTestFinished(() => client.release(true));
    await client.query('BEGIN');
    await expect(hub.emit('placed', {}, { tx: client })).rejects.toThrow(OtherDatabaseError);
    await client.query('ROLLBACK');
    // The same schema, of another installation.
    const twin = createHub({ service: 'shop', logger: false, transport: postgresTransport({ pool: other, schema }) });
    await twin.start();
    await twin.stop();
    await client.query('BEGIN');
    await expect(hub.emit('placed', {}, { tx: client })).rejects.toThrow(OtherDatabaseError);
    await client.query('COMMIT');
    expect((await client.query(`SELECT FROM ${schema}.inbox`)).rowCount).toBe(0);
  });

  test('is refused by other transports, which name Postgres', async () => {
    const hub = createHub({ service: 'shop', logger: false, transport: memoryTransport() });
    hub.event({ type: 'placed' });
    await hub.start();
    onTestFinished(async () => void (await hub.stop()));
    const emit = hub.emit('placed', {}, { tx: pool });
    await expect(emit).rejects.toThrow(TransactionUnsupportedError);
    await expect(emit).rejects.toThrow('needs the Postgres transport');
    await expect(hub.emitMany('placed', [{}], { tx: pool })).rejects.toThrow(TransactionUnsupportedError);
  });
});

test('a row that cannot be accepted keeps no other one', async () => {
  const hub = await startHub((it) => it.event({ type: 'placed', handler: () => {} }));
  await transact(async (tx) => {
    await hub.emit('placed', { n: 1 }, { tx });
    await tx.query(`INSERT INTO ${schema}.inbox (sender, events) VALUES ('shop', '{')`);
    await hub.emit('placed', { n: 2 }, { tx });
  });
  await vi.waitFor(async () => expect(await received(hub)).toBe(2));
  const { rows } = await postgres.admin.query(`SELECT events, error FROM ${schema}.inbox`);
  expect(rows).toEqual([{ events: '{', error: expect.stringContaining('json') }]);
});

describe('an adapter', () => {
  const clients: readonly (readonly [string, (run: (tx: SqlTransaction) => Promise<void>) => Promise<void>])[] = [
    ['Drizzle', (run) => drizzle(pool).transaction((tx) => run(fromDrizzle(tx)))],
    [
      'Kysely',
      async (run) => {
        const database = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
        await database.transaction().execute((trx) => run(fromKysely(trx)));
      },
    ],
    [
      'Knex',
      async (run) => {
        const knex = knexOf({ client: 'pg', connection: postgres.url, pool: { min: 0, max: 2 } });
        await knex.transaction((trx) => run(fromKnex(trx))).finally(() => knex.destroy());
      },
    ],
  ];

  test.each(clients)('of %s emits with the commit, and nothing after a rollback', async (_, transaction) => {
    const handled: unknown[] = [];
    const hub = await startHub((it) =>
      it.event({ type: 'placed', handler: ({ payload }) => void handled.push(payload) }),
    );
    const rolledBack = new Error('rolled back');
    const attempt = transaction(async (tx) => {
      await hub.emit('placed', { text: 'no' }, { tx });
      throw rolledBack;
    });
    await expect(attempt).rejects.toBe(rolledBack);
    const payload = { text: `a '?' and a $1, "quoted" \\ back` };
    await transaction(async (tx) => void (await hub.emit('placed', payload, { tx })));
    await vi.waitFor(() => expect(handled).toEqual([payload]));
  });
});
