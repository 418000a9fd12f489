import { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import type { Delivery, Outcome } from '../../delivery.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import type { PostgresPool } from '../postgres-options.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { postgresTransport } from '../postgres-transport.js';
import { PostgresDelivery } from './postgres-delivery.js';

const { admin, harness, url } = await startTestPostgres();

const completed: Outcome = { status: 'completed', durationMs: 1, followUps: [], result: 'null' };

interface Shop {
  readonly shop: TransportManager;
  readonly held: Delivery[];
}

/** Connects a service with two slots, or another number, which holds what it receives. No poll finds anything. */
async function startShop(concurrency = 2): Promise<Shop> {
  const { connect } = await harness({ pollIntervalMs: 600_000, lockDurationMs: 600_000 });
  const held: Delivery[] = [];
  const start = async (): Promise<TransportManager> => {
    const shop = connect('shop');
    await shop.start({
      subscriptions: [
        { type: 'order' },
        { type: 'report', concurrency: 1 },
        { type: 'mail', perKey: { concurrency: 1 } },
      ],
      concurrency,
      onDelivery: (delivery) => void held.push(delivery),
    });
    return shop;
  };
  // The first one notifies of its settings, which may begin a claim after its start.
  await (await start()).close({ drainMs: 0 });
  const shop = await start();
  onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
  return { shop, held };
}

function idsOf(deliveries: readonly Delivery[]): string[] {
  return deliveries.map((delivery) => delivery.envelope.id);
}

function seqOf(delivery: Delivery): number {
  if (!(delivery instanceof PostgresDelivery)) throw new Error('of another transport');
  return delivery.seq;
}

/** Refuses calls of a function until the test ends, or the returned function is called. */
async function refuseCalls(name: string): Promise<() => Promise<void>> {
  const rename = async (from: string, to: string): Promise<void> => {
    const { rows } = await admin.query('SELECT oid::regprocedure::text AS name FROM pg_proc WHERE proname = $1', [
      from,
    ]);
    if (rows.length > 0) await admin.query(`ALTER FUNCTION ${rows[0]?.['name']} RENAME TO ${to}`);
  };
  await rename(name, `${name}_refused`);
  const restore = (): Promise<void> => rename(`${name}_refused`, name);
  onTestFinished(restore);
  return restore;
}

it('events start with the call that accepts them, those of the highest priority first, as long as there is room', async () => {
  const { shop, held } = await startShop();
  const restore = await refuseCalls('claim');
  const low = envelope('order', { priority: 1 });
  const [first, second] = [envelope('order', { priority: 5 }), envelope('order', { priority: 5 })];
  await shop.publish([low, first, second]);
  expect(idsOf(held)).toEqual([first.id, second.id]);
  await restore();
  await held[0]?.commit(completed);
  await expect.poll(() => idsOf(held)).toEqual([first.id, second.id, low.id]);
});

it('an event that a call has twice takes two slots', async () => {
  const { shop, held } = await startShop(1);
  const order = envelope('order');
  await shop.publish([order, order]);
  expect(held).toHaveLength(1);
});

it('calls under way together start no more events than there are slots, and what is left follows', async () => {
  const { shop, held } = await startShop();
  const orders = Array.from({ length: 40 }, () => envelope('order'));
  const sent = orders.map((order) => shop.publish([order]));
  let ended = 0;
  while (ended < orders.length) {
    await expect.poll(() => held.length).toBeGreaterThan(ended);
    expect(held.length - ended).toBeLessThanOrEqual(2);
    await held[ended]?.commit(completed);
    ended += 1;
  }
  await Promise.all(sent);
  expect(idsOf(held).toSorted()).toEqual(orders.map(({ id }) => id).toSorted());
  const [counts] = await shop.counts.get(['order']);
  expect(counts?.total).toMatchObject({ received: 40, completed: 40, pending: 0, active: 0 });
});

it('events start while the outcomes of others are on their way, of which there is a limit', async () => {
  const { shop, held } = await startShop(1);
  const client = await admin.connect();
  onTestFinished(() => client.release());
  const sent: string[] = [];
  const committing: Promise<unknown>[] = [];
  /** Emits 10 events while nobody records outcomes, and then ends them. Returns the number of those that started meanwhile. */
  const startedMeanwhile = async (): Promise<number> => {
    const before = held.length;
    await client.query('BEGIN');
    for (let emitted = 0; emitted < 10; emitted += 1) {
      const order = envelope('order');
      sent.push(order.id);
      await shop.publish([order]);
      const last = held[committing.length];
      if (last === undefined) continue;
      // Nobody records its outcome until the transaction ends.
      await client.query('SELECT FROM hubline.events WHERE seq = $1 FOR UPDATE', [seqOf(last)]);
      committing.push(Promise.resolve(last.commit(completed)));
    }
    const started = held.length - before;
    await client.query('COMMIT');
    await expect
      .poll(async () => {
        await Promise.all(committing);
        for (const delivery of held.slice(committing.length))
          committing.push(Promise.resolve(delivery.commit(completed)));
        return committing.length;
      })
      .toBe(sent.length);
    await Promise.all(committing);
    return started;
  };
  let started: number;
  // Before the process listens, its acceptance lets it look for events. A claim that is under way with the outcome of an event
  // waits as long, and leaves the slot to none.
  do {
    started = await startedMeanwhile();
    // One runs, and at most 6 outcomes before it are on their way.
    expect(started).toBeLessThanOrEqual(1 + 6);
  } while (started < 2);
  expect(idsOf(held)).toEqual(sent);
  const [counts] = await shop.counts.get(['order']);
  expect(counts?.total).toMatchObject({ received: sent.length, completed: sent.length, pending: 0, active: 0 });
});

it('a claim names the queues that have more, and no others', async () => {
  const { shop } = await startShop(1);
  const restore = await refuseCalls('claim');
  await shop.publish([envelope('order'), envelope('order'), envelope('order')]);
  await restore();
  const claim = async (): Promise<unknown> => {
    const { rows } = await admin.query(
      "SELECT hubline.claim((SELECT id FROM hubline.members), 1, ARRAY[id], '{}', '{}') AS reply FROM hubline.queues WHERE type = 'order'",
    );
    return rows[0]?.['reply'];
  };
  expect(await claim()).toMatchObject({ deliveries: [{ type: 'order' }], rest: [expect.anything()] });
  expect(await claim()).toMatchObject({ deliveries: [{ type: 'order' }], rest: [] });
});

it('an event goes behind those of its type that wait', async () => {
  const { shop, held } = await startShop();
  const [a, b, waiting, late] = [0, 0, 0, 0].map(() => envelope('order'));
  if (!a || !b || !waiting || !late) throw new Error('no envelopes');
  await shop.publish([a, b, waiting]);
  await expect.poll(() => held.length).toBe(2);
  const restore = await refuseCalls('claim');
  await held[0]?.commit(completed);
  await shop.publish([late]);
  expect(held).toHaveLength(2);
  await restore();
  await held[1]?.commit(completed);
  await expect.poll(() => idsOf(held)).toEqual([a.id, b.id, waiting.id, late.id]);
});

it.each<[string, (shop: TransportManager) => Promise<void>, string]>([
  ['of a paused type', async (shop) => shop.pause({ revision: 1, types: ['order'] }), 'order'],
  ['of a type with slots of its own', async () => {}, 'report'],
])('an event %s waits for a claim', async (_, prepare, type) => {
  const { shop, held } = await startShop();
  await prepare(shop);
  const restore = await refuseCalls('claim');
  await shop.publish([envelope(type)]);
  expect(held).toEqual([]);
  await restore();
});

it('outcomes that are recorded with a claim are as durable as others, and take effect if the claim fails', async () => {
  const { shop, held } = await startShop();
  await shop.publish([envelope('order'), envelope('order')]);
  expect(held).toHaveLength(2);
  const client = await admin.connect();
  onTestFinished(() => client.release());
  const conclude = async (queues: string): Promise<unknown> => {
    const { rows } = await client.query(
      `SELECT hubline.conclude_and_claim(owner, 'shop', json_build_array(json_build_object('seq', seq, 'token', token,
        'status', 'completed', 'durationMs', 1, 'isOverdue', false, 'followUps', '[]'::json)), '(0,)', owner, 2, ${queues},
        '{}', '{}', 0) AS reply FROM hubline.events ORDER BY seq LIMIT 1`,
    );
    return rows[0]?.['reply'];
  };
  await client.query('BEGIN');
  expect(await conclude('ARRAY[queue]')).toMatchObject({ results: ['ok'], claimed: { deliveries: [] } });
  expect((await client.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'on' }]);
  await client.query('COMMIT');
  const restore = await refuseCalls('claim');
  expect(await conclude('ARRAY[queue]')).toEqual({ results: ['ok'], claimed: null });
  await restore();
  const [counts] = await shop.counts.get(['order']);
  expect(counts?.total).toMatchObject({ completed: 2, pending: 0 });
});

it('an event that is decided apart starts before those of its call that come after it', async () => {
  const { shop, held } = await startShop(1);
  const first = envelope('order', { priority: 5, dedupe: { id: 'once', windowMs: 60_000 } });
  const second = envelope('order', { priority: 0 });
  await shop.publish([first, second]);
  await expect.poll(() => held.length).toBe(1);
  await held[0]?.commit(completed);
  await expect.poll(() => idsOf(held)).toEqual([first.id, second.id]);
});

it('a type with keys has its turn while another type always has events that wait', async () => {
  const { shop, held } = await startShop(1);
  const orders = Array.from({ length: 6 }, () => envelope('order'));
  await shop.publish(orders);
  await shop.publish([envelope('mail', { key: 'ada' })]);
  for (let ended = 0; ended < 3; ended += 1) {
    await expect.poll(() => held.length).toBe(ended + 1);
    // The call that brought it is over.
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    await held[ended]?.commit(completed);
  }
  await expect.poll(() => held.length).toBe(4);
  expect(held.map((delivery) => delivery.envelope.type)).toContain('mail');
});

it('a type that waits for a slot has its turn although another one is emitted whenever a handler ends', async () => {
  const { shop, held } = await startShop(1);
  await shop.publish([envelope('order')]);
  await shop.publish([envelope('mail', { key: 'ada' })]);
  for (let ended = 0; ended < 6; ended += 1) {
    await expect.poll(() => held.length).toBeGreaterThan(ended);
    // In one turn of the event loop.
    const recorded = held[ended]?.commit(completed);
    await Promise.all([recorded, shop.publish([envelope('order')])]);
  }
  expect(held.map((delivery) => delivery.envelope.type)).toContain('mail');
});

it('a message that arrives while calls are under way is repeated once after each of them', async () => {
  const pool = new Pool({ connectionString: url });
  let reads = 0;
  const counting: PostgresPool = {
    connect: (callback) => pool.connect(callback),
    query: (statement, values) => {
      if (typeof statement !== 'string' && statement.text.includes('.news_json(')) reads += 1;
      return pool.query(statement, values);
    },
  };
  const shop = postgresTransport({ pool: counting, schema: 'noted' }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  onTestFinished(async () => {
    await shop.close({ drainMs: 0 });
    await pool.end();
  });
  await shop.start({ subscriptions: [{ type: 'order' }, { type: 'report' }], concurrency: 1, onDelivery: () => {} });
  await shop.publish([envelope('order')]);
  const { rows } = await admin.query('SELECT seq FROM noted.events');
  const sending: Promise<void>[] = [];
  for (let sender = 0; sender < 6; sender += 1) {
    sending.push(
      (async () => {
        for (let n = 0; n < 30; n += 1) await shop.publish([envelope('report')]);
      })(),
    );
    // Calls of one turn of the event loop would be one call.
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  }
  await admin.query("SELECT pg_notify('hubline_noted', $1)", [`c${rows[0]?.['seq']}`]);
  await Promise.all(sending);
  await expect.poll(() => reads).toBeGreaterThan(0);
  expect(reads).toBeLessThan(12);
});
