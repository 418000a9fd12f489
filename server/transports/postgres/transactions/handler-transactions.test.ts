import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../../../hub/create-hub.js';
import type { HandlerCtx } from '../../../hub/events/context.js';
import { deferred } from '../../../hub/hub.fixture.js';
import type { Hub } from '../../../hub/hub.js';
import { createWorkflow } from '../../../hub/runs/workflow.js';
import { memoryTransport } from '../../memory/memory-transport.js';
import type { PostgresTransportOptions } from '../postgres-options.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { postgresTransport } from '../postgres-transport.js';

const postgres = await startTestPostgres();
const { admin } = postgres;
let pool: Pool;
let schema = '';
const pools: Pool[] = [];
afterAll(async () => {
  await Promise.all(pools.map((each) => each.end()));
});
beforeEach(async () => {
  schema = `tx_${Math.random().toString(36).slice(2)}`;
  pool = new Pool({ connectionString: postgres.url });
  pool.on('error', () => {});
  pools.push(pool);
  await admin.query('DROP TABLE IF EXISTS stock; CREATE TABLE stock (id text PRIMARY KEY, pieces int NOT NULL)');
  await admin.query(`INSERT INTO stock VALUES ('a', 0), ('b', 0)`);
});

async function startHub(
  register: (hub: Hub) => void,
  options: Omit<PostgresTransportOptions, 'pool' | 'connectionString'> & { logger?: Hub['logger'] } = {},
): Promise<Hub> {
  const { logger = false, ...others } = options;
  const hub = createHub({ service: 'shop', logger, transport: postgresTransport({ pool, schema, ...others }) });
  register(hub);
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  return hub;
}

const take = (client: Pick<PoolClient, 'query'>, id = 'a') =>
  client.query('UPDATE stock SET pieces = pieces + 1 WHERE id = $1', [id]);
const pieces = async (id = 'a'): Promise<number> =>
  Number((await admin.query('SELECT pieces FROM stock WHERE id = $1', [id])).rows[0]?.pieces);
const counts = (hub: Hub, type = 'placed') => hub.metrics(type);

describe('ctx.transaction', () => {
  test('ends the event with the writes, its result and what was emitted', async () => {
    const results: unknown[] = [];
    const late = deferred();
    const errors: string[] = [];
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: (_: object, message: string) => void errors.push(message),
    };
    const hub = await startHub(
      (it) => {
        it.event({
          type: 'placed',
          onSuccess: 'taken',
          retry: { maxAttempts: 3 },
          handler: async ({ transaction, emit }) => {
            await emit('noted', { n: 1 });
            const n = await transaction(async (client: PoolClient) => {
              await take(client);
              await emit('noted', { n: 2 });
              return { n: 7 };
            });
            expect(n).toEqual({ n: 7 });
            await late.promise;
            throw new Error('too late');
          },
        });
        it.event({ type: 'taken', handler: ({ payload }) => void results.push(payload) });
        it.event({ type: 'noted', handler: ({ payload }) => void results.push(payload) });
      },
      { logger },
    );
    await hub.emit('placed', {});
    await vi.waitFor(() => expect(results).toHaveLength(3));
    expect(results).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }, { n: 7 }]));
    expect(await counts(hub)).toMatchObject({ received: 1, completed: 1, failed: 0 });
    late.resolve();
    await vi.waitFor(() => expect(errors).toContain('the handler threw after its transaction had ended the attempt'));
    expect(await counts(hub)).toMatchObject({ completed: 1, failed: 0, retried: 0 });
    expect(await pieces()).toBe(1);
  });

  test('rolls back what a callback wrote that throws, and the attempt goes on', async () => {
    let attempts = 0;
    const hub = await startHub((it) =>
      it.event({
        type: 'placed',
        retry: { maxAttempts: 2, initialDelayMs: 1 },
        handler: async ({ transaction, emit }) => {
          attempts += 1;
          const failing = transaction(async (client: PoolClient) => {
            await take(client);
            await emit('noted', {});
            throw new Error('no');
          });
          await expect(failing).rejects.toThrow('no');
          if (attempts === 1) throw new Error('again');
          await transaction((client: PoolClient) => take(client, 'b'));
          await expect(transaction((client: PoolClient) => take(client, 'b'))).rejects.toMatchObject({
            code: 'ERR_ATTEMPT_ENDED',
          });
          await expect(emit('noted', {})).rejects.toMatchObject({ code: 'ERR_ATTEMPT_ENDED' });
        },
      }),
    );
    await hub.emit('placed', {});
    await vi.waitFor(async () => expect(await counts(hub)).toMatchObject({ completed: 1, retried: 1 }));
    expect([await pieces('a'), await pieces('b')]).toEqual([0, 1]);
  });

  test('repeats its callback after a serialization failure, and drops what the first call emitted', async () => {
    const noted: unknown[] = [];
    let calls = 0;
    const hub = await startHub((it) => {
      it.event({
        type: 'placed',
        handler: ({ transaction, emit }) =>
          transaction(
            async (client: PoolClient) => {
              calls += 1;
              await client.query('SELECT pieces FROM stock');
              if (calls === 1) await take(admin);
              await emit('noted', { calls });
              await take(client);
            },
            { isolation: 'serializable' },
          ),
      });
      it.event({ type: 'noted', handler: ({ payload }) => void noted.push(payload) });
    });
    await hub.emit('placed', {});
    await vi.waitFor(() => expect(noted).toEqual([{ calls: 2 }]));
    expect(await pieces()).toBe(2);
    expect(await counts(hub)).toMatchObject({ completed: 1, failed: 0 });
  });

  test('writes nothing if another process has the event', async () => {
    const inside = deferred();
    const proceed = deferred();
    const outcomes: unknown[] = [];
    let attempts = 0;
    const hub = await startHub((it) =>
      it.event({
        type: 'placed',
        handler: async ({ transaction }) => {
          attempts += 1;
          const isFirst = attempts === 1;
          await transaction(async (client: PoolClient) => {
            await take(client, isFirst ? 'a' : 'b');
            if (!isFirst) return;
            inside.resolve();
            await proceed.promise;
          }).catch((error: unknown) => void outcomes.push(error));
        },
      }),
    );
    await hub.emit('placed', {});
    await inside.promise;
    // As when the process stood still for longer than its lock.
    await admin.query(
      `UPDATE ${schema}.events SET state = 'r', owner = NULL, token = NULL; NOTIFY hubline_${schema}, 'w1'`,
    );
    await vi.waitFor(() => expect(attempts).toBe(2));
    proceed.resolve();
    await vi.waitFor(() => expect(outcomes).toEqual([expect.objectContaining({ code: 'ERR_LEASE_LOST' })]));
    await vi.waitFor(async () => expect(await counts(hub)).toMatchObject({ received: 1, completed: 1 }));
    expect([await pieces('a'), await pieces('b')]).toEqual([0, 1]);
  });

  test('times out like a handler, and writes nothing then', async () => {
    const hub = await startHub((it) =>
      it.event({
        type: 'placed',
        timeoutMs: 50,
        handler: ({ transaction, signal }) =>
          transaction(async (client: PoolClient) => {
            await take(client);
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
          }),
      }),
    );
    await hub.emit('placed', {});
    await vi.waitFor(async () => expect(await counts(hub)).toMatchObject({ failed: 1, completed: 0 }));
    await vi.waitFor(() => expect(pool.waitingCount).toBe(0));
    expect(await pieces()).toBe(0);
  });

  test.each([
    ['while the callback runs', 'callback'],
    ['between COMMIT and its reply', 'commit'],
  ])('is repeated or known after its connection was lost %s', async (_, moment) => {
    let calls = 0;
    const hub = await startHub((it) =>
      it.event({
        type: 'placed',
        handler: async ({ transaction }) => {
          await transaction(async (client: PoolClient) => {
            calls += 1;
            await take(client);
            if (calls > 1) return;
            if (moment === 'callback') await admin.query('SELECT pg_terminate_backend($1)', [await pidOf(client)]);
            else loseReplyOfCommit(client);
          });
        },
      }),
    );
    await hub.emit('placed', {});
    await vi.waitFor(async () => expect(await counts(hub)).toMatchObject({ completed: 1, failed: 0 }));
    expect([calls, await pieces()]).toEqual([moment === 'callback' ? 2 : 1, 1]);
  });

  test('refuses a callback that ends the transaction, or swallows an error of a statement', async () => {
    const errors: unknown[] = [];
    const hub = await startHub((it) => {
      it.event({
        type: 'placed',
        handler: async ({ transaction }) => {
          const ending = transaction(async (client: PoolClient) => void (await client.query('COMMIT')));
          await ending.catch((error: unknown) => void errors.push(error));
          const swallowing = transaction(async (client: PoolClient) => {
            await take(client);
            await client.query('SELECT 1 / 0').catch(() => {});
          });
          await swallowing.catch((error: unknown) => void errors.push(error));
          throw new Error('done');
        },
      });
    });
    await hub.emit('placed', {});
    await vi.waitFor(async () => expect(await counts(hub)).toMatchObject({ failed: 1, completed: 0 }));
    expect(errors).toMatchObject([{ code: 'ERR_TRANSACTION_ENDED' }, { code: '25P02' }]);
    expect(await pieces()).toBe(0);
  });

  test('leaves sessions for leases: handlers that fill the pool lose none', async () => {
    const handlers = 30;
    const release = deferred();
    let running = 0;
    const hub = await startHub(
      (it) =>
        it.event({
          type: 'placed',
          handler: async ({ transaction }) => {
            running += 1;
            const client = await pool.connect();
            await release.promise;
            client.release();
            await transaction((own: PoolClient) => take(own));
          },
        }),
      { lockDurationMs: 300 },
    );
    await hub.emitMany(
      'placed',
      Array.from({ length: handlers }, () => ({})),
    );
    await vi.waitFor(() => expect(running).toBe(handlers));
    const { rows } = await admin.query(`SELECT max(alive_until) AS until FROM ${schema}.members`);
    await vi.waitFor(async () => {
      const renewed = await admin.query(`SELECT max(alive_until) AS until FROM ${schema}.members`);
      expect(Number(renewed.rows[0]?.until)).toBeGreaterThan(Number(rows[0]?.until) + 600);
    });
    release.resolve();
    await vi.waitFor(async () => expect(await counts(hub)).toMatchObject({ completed: handlers, failed: 0 }));
    expect(await pieces()).toBe(handlers);
  });
});

describe('step.transaction', () => {
  test('records its result with its writes, and never runs again', async () => {
    let calls = 0;
    const hub = await startHub((it) => {
      it.event({ type: 'noted' });
      it.workflow(
        createWorkflow({
          name: 'fulfil',
          run: async ({ step }) => {
            const reserved = await step.transaction('reserve', async (client: PoolClient, ctx) => {
              calls += 1;
              await take(client);
              await ctx.emit('noted', {});
              return { step: ctx.step };
            });
            const [left, right] = await Promise.all([
              step.transaction('left', (client: PoolClient) => take(client, 'b').then(() => 'l')),
              step.run('right', () => 'r'),
            ]);
            return { reserved, left, right };
          },
        }),
      );
    });
    const run = await hub.startWorkflow('fulfil', {});
    expect(await run.result()).toEqual({ reserved: { step: 'reserve' }, left: 'l', right: 'r' });
    expect([calls, await pieces('a'), await pieces('b')]).toEqual([1, 1, 1]);
    expect(await counts(hub, 'noted')).toMatchObject({ received: 1 });
  });

  test('fails as a step does, and is retried', async () => {
    let calls = 0;
    const hub = await startHub((it) =>
      it.workflow(
        createWorkflow({
          name: 'fulfil',
          run: async ({ step }) => {
            const twice = step.transaction(
              'twice',
              async (client: PoolClient) => {
                calls += 1;
                await take(client);
                if (calls === 1) throw new Error('once');
              },
              { retry: { maxAttempts: 2, initialDelayMs: 1 } },
            );
            await twice;
            await step.transaction('never', async (client: PoolClient) => {
              await take(client);
              throw new Error('never');
            });
          },
        }),
      ),
    );
    const run = await hub.startWorkflow('fulfil', {});
    await expect(run.result()).rejects.toMatchObject({ failure: { message: 'never' } });
    expect([calls, await pieces()]).toEqual([2, 1]);
  });

  test('resumes after a lost connection with what the database has', async () => {
    const calls: string[] = [];
    const hub = await startHub((it) =>
      it.workflow(
        createWorkflow({
          name: 'fulfil',
          run: async ({ step }) => {
            await step.transaction('known', async (client: PoolClient) => {
              calls.push('known');
              await take(client);
              loseReplyOfCommit(client);
            });
            await step.transaction('repeated', async (client: PoolClient) => {
              calls.push('repeated');
              await take(client, 'b');
              if (calls.length === 2) await admin.query('SELECT pg_terminate_backend($1)', [await pidOf(client)]);
            });
          },
        }),
      ),
    );
    const run = await hub.startWorkflow('fulfil', {});
    await run.result();
    expect(calls).toEqual(['known', 'repeated', 'repeated']);
    expect([await pieces('a'), await pieces('b')]).toEqual([1, 1]);
  });

  test('is refused on other transports, and in tools of agents', async () => {
    const hub = createHub({ service: 'shop', logger: false, transport: memoryTransport() });
    let error: unknown;
    hub.event({
      type: 'placed',
      handler: async ({ transaction }: HandlerCtx) => {
        await transaction(() => {}).catch((thrown: unknown) => {
          error = thrown;
        });
      },
    });
    hub.workflow(createWorkflow({ name: 'fulfil', run: ({ step }) => step.transaction('reserve', () => 1) }));
    await hub.start();
    onTestFinished(async () => void (await hub.stop()));
    await hub.emit('placed', {});
    await vi.waitFor(() => expect(error).toMatchObject({ code: 'ERR_TRANSACTION_UNSUPPORTED' }));
    const run = await hub.startWorkflow('fulfil', {});
    await expect(run.result()).rejects.toMatchObject({ failure: { code: 'ERR_TRANSACTION_UNSUPPORTED' } });
  });
});

async function pidOf(client: PoolClient): Promise<number> {
  return Number((await client.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid);
}

/** Lets the server receive the next COMMIT of a client, and loses the connection before the reply. */
function loseReplyOfCommit(client: PoolClient): void {
  const query = client.query.bind(client);
  const lose = async (): Promise<never> => {
    await query('COMMIT');
    const lost = new Error('Connection terminated unexpectedly');
    client.emit('error', lost);
    throw lost;
  };
  Object.assign(client, {
    query: (text: string, values: unknown[]) => (text === 'COMMIT' ? lose() : query(text, values)),
  });
}
