import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createHub, type Hub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { batch, countdown, inBatches } from '../measuring/batches.js';
import { type Contender, compare } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';
import { introspected } from './introspected.js';

const events = 5_000;
const payload = { id: 1, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] };

// By concurrency. One at a time, each event waits for a call of its own.
const lowestRatios = [
  [1, 0.7],
  [16, 0.9],
  [64, 0.97],
] as const;

/** Measures one process on its own Redis without persistence, next to bare BullMQ with the same payload. */
export async function redis(): Promise<Row[]> {
  const server = await startRedisServer();
  try {
    const rows: Row[] = [];
    for (const [concurrency, limit] of lowestRatios) {
      const bare = await bareHandled(server.url, concurrency);
      const hubline = await hublineHandled(server.url, concurrency);
      rows.push(
        ...(await compare({
          scenario: `Redis: emit and handle, ${concurrency} at once`,
          unit: 'events/s',
          times: events,
          hubline: hubline.run,
          peers: [{ ...bare, target: { of: 'ratio', limit: 'at least', value: limit } }],
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
    return [...rows, ...(await introspected(server.url)), ...(await bytesAnEvent(server.url))];
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
