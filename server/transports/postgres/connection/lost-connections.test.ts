import { connect, createServer, type Socket } from 'node:net';
import { Pool } from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { listenLocally } from '../../../../scripts/listen-locally.js';
import { envelope } from '../../contract/envelope.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { postgresTransport } from '../postgres-transport.js';

const { admin, url } = await startTestPostgres();
const pool = new Pool({ connectionString: url, application_name: 'victim' });
pool.on('error', () => {});
afterAll(() => pool.end());

const events = 200;
const perPortion = 10;

async function terminateAll(): Promise<void> {
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'");
}

it(`${events} events end once each while every connection is terminated again and again`, async () => {
  const shop = postgresTransport({ pool, schema: 'lost', lockDurationMs: 1_000, pollIntervalMs: 100 }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  await shop.start({
    subscriptions: [{ type: 'order' }],
    concurrency: 20,
    onDelivery: (delivery) => {
      const outcome = { status: 'completed', durationMs: 1, followUps: [], result: 'null' } as const;
      void Promise.resolve(delivery.commit(outcome)).catch(() => {});
    },
  });
  for (let sent = 0; sent < events; sent += perPortion) {
    const portion = Array.from({ length: perPortion }, (_, index) =>
      envelope('order', { dedupe: { id: `order ${sent + index}`, windowMs: 600_000 } }),
    );
    const terminating = terminateAll();
    // One whose reply was lost may have been accepted: its deduplication id makes it safe to repeat.
    let isAccepted = false;
    while (!isAccepted) {
      isAccepted = await Promise.resolve(shop.publish(portion)).then(
        () => true,
        () => false,
      );
    }
    await terminating;
  }
  const counts = async (): Promise<unknown> =>
    shop.counts.get(['order']).then(
      ([found]) => found?.total,
      () => undefined,
    );
  await expect
    .poll(counts, { timeout: 60_000 })
    .toMatchObject({ received: events, completed: events, pending: 0, active: 0 });
  const { rows } = await admin.query('SELECT count(*)::int AS n FROM lost.events');
  expect(rows).toEqual([{ n: 0 }]);
  await shop.close({ drainMs: 1_000 });
});

const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
// ErrorResponse with severity, SQLSTATE and message, as a server that shuts down sends it.
const fields = Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
const shutdown = Buffer.concat([Buffer.from([0x45, 0, 0, 0, fields.length + 4]), fields]);

/** Proxy in front of the server. */
interface Proxy {
  readonly url: string;
  /** Sends and receives nothing more on the connections that are open. */
  freeze(): void;
}

/** Starts a proxy. @param ended number of connections that it ends in the packet by which they become ready */
async function startProxy(ended = 0): Promise<Proxy> {
  const { port, hostname } = new URL(url);
  let left = ended;
  const open = new Set<Socket>();
  const frozen = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    open.add(client);
    client.on('data', (data) => frozen.has(client) || upstream.write(data));
    upstream.on('data', (data) => {
      if (frozen.has(client)) return;
      if (left === 0 || !data.includes(ready)) client.write(data);
      else {
        left -= 1;
        client.end(Buffer.concat([data, shutdown]));
      }
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  const proxy = Object.assign(new URL(url), { port: await listenLocally(server) });
  onTestFinished(() => {
    for (const each of open) each.destroy();
    server.close();
  });
  return {
    url: proxy.href,
    freeze() {
      for (const each of open) frozen.add(each);
    },
  };
}

/** Consumes events, and returns the list of their types. */
async function consume(shop: TransportManager): Promise<string[]> {
  const types: string[] = [];
  await shop.start({
    subscriptions: [{ type: 'order' }],
    concurrency: 1,
    onDelivery: (delivery) => {
      types.push(delivery.envelope.type);
      const outcome = { status: 'completed', durationMs: 1, followUps: [], result: 'null' } as const;
      void Promise.resolve(delivery.commit(outcome)).catch(() => {});
    },
  });
  return types;
}

it('connections that end in the moment they are ready are replaced, and end neither the process nor an event', async () => {
  const transport = postgresTransport({ connectionString: (await startProxy(10)).url, schema: 'instant' });
  const shop = transport.connect({ service: 'shop', logger: silentLogger });
  let rejected = 0;
  while ((await Promise.allSettled([shop.counts.get(['order'])]))[0]?.status === 'rejected') rejected += 1;
  expect(rejected).toBeGreaterThan(0);
  const types = await consume(shop);
  await shop.publish([envelope('order')]);
  await expect.poll(() => types).toEqual(['order']);
  await shop.close({ drainMs: 1_000 });
});

it('a connection that hangs is replaced after the time limit of its statement', async () => {
  const proxy = await startProxy();
  const limits = { lockDurationMs: 1_000, emitTimeoutMs: 1_000, pollIntervalMs: 100 };
  const transport = postgresTransport({ connectionString: proxy.url, schema: 'hung', ...limits });
  const shop = transport.connect({ service: 'shop', logger: silentLogger });
  const types = await consume(shop);
  proxy.freeze();
  const isAccepted = async (): Promise<boolean> => {
    const [result] = await Promise.allSettled([shop.publish([envelope('order')])]);
    return result?.status === 'fulfilled';
  };
  await expect.poll(isAccepted, { timeout: 60_000 }).toBe(true);
  await expect.poll(() => types).toEqual(['order']);
  await shop.close({ drainMs: 1_000 });
});

it('a call for which the pool has no connection says so, and how many there are', async () => {
  const shared = new Pool({ connectionString: url, max: 2 });
  const transport = postgresTransport({ pool: shared, schema: 'exhausted', emitTimeoutMs: 1_000 });
  const shop = transport.connect({ service: 'shop', logger: silentLogger });
  onTestFinished(async () => {
    await shop.close({ drainMs: 0 });
    await shared.end();
  });
  await shop.publish([envelope('order')]);
  const held = await Promise.all([shared.connect(), shared.connect()]);
  await expect(shop.publish([envelope('order')])).rejects.toThrow(
    'within 1000 ms, while calls waited for one of the 2 connections of the pool; repeat the call when it is available ' +
      'again, or raise the max of the pool',
  );
  for (const client of held) client.release();
  expect(await shop.publish([envelope('order')])).toHaveLength(1);
});

it('a session that loses its prepared statements, as an application may cause, serves all calls on', async () => {
  const shared = new Pool({ connectionString: url, max: 1 });
  const shop = postgresTransport({ pool: shared, schema: 'unprepared' }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  onTestFinished(async () => {
    await shop.close({ drainMs: 0 });
    await shared.end();
  });
  expect(await shop.publish([envelope('order')])).toHaveLength(1);
  await shared.query('DEALLOCATE ALL');
  expect(await shop.publish([envelope('order')])).toHaveLength(1);
});

it('sessions record outcomes although the schema was dropped and created again, as by a restore', async () => {
  const shared = new Pool({ connectionString: url });
  onTestFinished(() => shared.end());
  const results: unknown[] = [];
  const start = async (): Promise<TransportManager> => {
    const shop = postgresTransport({ pool: shared, schema: 'restored' }).connect({
      service: 'shop',
      logger: silentLogger,
    });
    await shop.start({
      subscriptions: [{ type: 'order' }],
      concurrency: 5,
      onDelivery: (delivery) => {
        const outcome = { status: 'completed', durationMs: 1, followUps: [], result: 'null' } as const;
        results.push(Promise.resolve(delivery.commit(outcome)).catch((error: unknown) => String(error)));
      },
    });
    return shop;
  };
  // Each session of the pool takes part.
  const end = async (shop: TransportManager, count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 1) {
      const clients = await Promise.all(Array.from({ length: sent % 6 }, () => shared.connect()));
      const before = results.length;
      await shop.publish([envelope('order')]);
      for (const client of clients) client.release();
      await expect.poll(() => results.length).toBeGreaterThan(before);
    }
  };
  const first = await start();
  await end(first, 30);
  await first.close({ drainMs: 1_000 });
  await shared.query('DROP SCHEMA restored CASCADE');
  const second = await start();
  await end(second, 30);
  await second.close({ drainMs: 1_000 });
  expect(await Promise.all(results)).toEqual(results.map(() => 'ok'));
  expect(results).toHaveLength(60);
});
