import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createHub, type Hub } from '../dist/index.js';
import { redisTransport } from '../dist/transports/redis/index.js';
import { startRedisServer } from '../scripts/redis-server.js';
import { batch, countdown, inBatches } from './batches.js';
import { type Contender, compare, median } from './measure.js';
import { withVersion } from './peer-version.js';
import type { Row } from './row.js';

const events = 5_000;
const payload = { id: 1, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] };

/** Measures one process on its own Redis without persistence, next to bare BullMQ with the same payload. */
export async function redis(): Promise<Row[]> {
  const server = await startRedisServer();
  try {
    const rows: Row[] = [];
    for (const concurrency of [1, 16, 64]) {
      const bare = await bareHandled(server.url, concurrency);
      const hubline = await hublineHandled(server.url, concurrency);
      rows.push(
        ...(await compare({
          scenario: `Redis: emit and handle, ${concurrency} at once`,
          unit: 'events/s',
          times: events,
          hubline: hubline.run,
          peers: [concurrency === 64 ? { ...bare, target: { of: 'ratio', limit: 'at least', value: 0.8 } } : bare],
        })),
      );
      for (const { close } of [bare, hubline]) await close();
    }
    const bare = bareEmitted(server.url);
    const hubline = await hublineEmitted(server.url);
    rows.push(
      ...(await compare({
        scenario: `Redis: emit, ${batch} in a tick`,
        unit: 'events/s',
        times: events,
        hubline: hubline.run,
        peers: [{ ...bare, target: { of: 'ratio', limit: 'at least', value: 3 } }],
      })),
    );
    for (const { close } of [bare, hubline]) await close();
    return [...rows, await introspected(server.url), ...(await bytesAnEvent(server.url))];
  } finally {
    await server.release();
  }
}

/** Contender with connections to close. */
export interface ClosableContender extends Contender {
  close(): Promise<void>;
}

async function bareHandled(url: string, concurrency: number): Promise<ClosableContender> {
  const name = randomUUID();
  const queue = new Queue(name, { connection: new Redis(url, { maxRetriesPerRequest: null }) });
  const done = countdown();
  const worker = new Worker(name, async () => done.count(), {
    connection: new Redis(url, { maxRetriesPerRequest: null }),
    concurrency,
    removeOnComplete: { count: 0 },
  });
  await worker.waitUntilReady();
  return {
    name: withVersion('bullmq'),
    async run(count) {
      const finished = done.of(count);
      await inBatches(count, () => queue.add('order', payload));
      await finished;
    },
    async close() {
      await worker.close();
      await queue.close();
    },
  };
}

async function hublineHandled(url: string, concurrency: number): Promise<ClosableContender> {
  const done = countdown();
  const hub = createHub({ transport: redisTransport({ url, prefix: randomUUID() }), concurrency });
  hub.event({ type: 'order', handler: () => done.count() });
  await hub.start();
  return {
    name: 'hubline',
    async run(count) {
      const finished = done.of(count);
      await inBatches(count, () => hub.emit('order', payload));
      await finished;
    },
    close: () => stop(hub),
  };
}

function bareEmitted(url: string): ClosableContender {
  const queue = new Queue(randomUUID(), { connection: new Redis(url, { maxRetriesPerRequest: null }) });
  return {
    name: `${withVersion('bullmq')}, one awaited after another`,
    async run(count) {
      for (let i = 0; i < count; i += 1) await queue.add('order', payload);
    },
    close: () => queue.close(),
  };
}

async function hublineEmitted(url: string): Promise<ClosableContender> {
  const hub = await hubWithoutWorkers(url, randomUUID());
  return {
    name: 'hubline, in a tick',
    run: (count) => inBatches(count, () => hub.emit('order', payload)),
    close: () => stop(hub),
  };
}

/** Measures the dashboard's query: everything that three processes registered, with every type in use. */
async function introspected(url: string): Promise<Row> {
  const prefix = randomUUID();
  const types = Array.from({ length: 1_000 }, (_, n) => `type ${n}`);
  const hubs = Array.from({ length: 3 }, () => createHub({ transport: redisTransport({ url, prefix }) }));
  for (const hub of hubs) {
    for (const type of types) hub.event({ type, handler: () => {} });
    await hub.start();
  }
  await Promise.all(types.map((type) => hubs[0]?.emit(type, payload)));
  const observer = createHub({ transport: redisTransport({ url, prefix }), observer: true });
  await observer.start();
  const durations: number[] = [];
  for (let time = 0; time < 50; time += 1) {
    const startedAt = performance.now();
    await observer.introspect();
    durations.push(performance.now() - startedAt);
  }
  for (const hub of [observer, ...hubs]) await stop(hub);
  return {
    scenario: 'Redis: introspect 1,000 types of 3 processes',
    unit: 'ms',
    hubline: median(durations),
    target: { of: 'figure', limit: 'at most', value: 20 },
  };
}

async function bytesAnEvent(url: string): Promise<Row[]> {
  const prefix = randomUUID();
  const hub = await hubWithoutWorkers(url, prefix);
  const admin = new Redis(url);
  const before = await usedBytes(admin);
  await inBatches(events, () => hub.emit('order', payload));
  const pending = await usedBytes(admin);
  const worker = createHub({ transport: redisTransport({ url, prefix }), service: 'shop' });
  worker.event({ type: 'order', handler: () => {} });
  await worker.start();
  while ((await worker.metrics('order')).pending > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const finished = await usedBytes(admin);
  await stop(worker);
  await stop(hub);
  admin.disconnect();
  return [
    { scenario: 'Redis: memory of a pending event', unit: 'bytes', hubline: (pending - before) / events },
    { scenario: 'Redis: memory of a finished event', unit: 'bytes', hubline: (finished - before) / events },
  ];
}

/** Creates a hub that emits to a service whose processes are down. */
async function hubWithoutWorkers(url: string, prefix: string): Promise<Hub> {
  const worker = createHub({ transport: redisTransport({ url, prefix }), service: 'shop' });
  worker.event({ type: 'order', handler: () => {} });
  await worker.start();
  await stop(worker);
  const hub = createHub({ transport: redisTransport({ url, prefix }) });
  hub.event({ type: 'order' });
  await hub.start();
  return hub;
}

async function stop(hub: Hub): Promise<void> {
  await hub.stop();
}

/** Returns the memory that the server uses for its data. */
export async function usedBytes(admin: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await admin.info('memory'))?.[1]);
}
