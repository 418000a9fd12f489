import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createHub, type Hub } from '../dist/index.js';
import { redisTransport } from '../dist/transports/redis/index.js';
import { startRedisServer } from '../scripts/redis-server.js';
import { type Contender, type Figure, measure } from './measure.js';

const events = 5_000;
// Emitted at once, then the next: what a busy process does in one turn.
const batch = 100;
const payload = { id: 1, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] };

/** What was measured on Redis. */
export interface RedisFigures {
  /** Emit and handle, by the handlers that run at once: bare BullMQ first. */
  readonly handled: readonly { readonly concurrency: number; readonly figures: readonly Figure[] }[];
  /** Emitting alone: bare BullMQ, one awaited after another, first. */
  readonly emitted: readonly Figure[];
  /** Bytes of Redis an event. */
  readonly bytes: { readonly pending: number; readonly finished: number };
}

/** One process on a Redis of its own, nothing persisted, beside bare BullMQ: same payload, nothing kept. */
export async function redis(): Promise<RedisFigures> {
  const server = await startRedisServer();
  try {
    const handled = [];
    for (const concurrency of [1, 16, 64]) {
      const contenders = [await bareHandled(server.url, concurrency), await hublineHandled(server.url, concurrency)];
      handled.push({ concurrency, figures: await measure(contenders, events) });
      for (const { close } of contenders) await close();
    }
    const emitters = [bareEmitted(server.url), await hublineEmitted(server.url)];
    const emitted = await measure(emitters, events);
    for (const { close } of emitters) await close();
    return { handled, emitted, bytes: await bytesAnEvent(server.url) };
  } finally {
    await server.release();
  }
}

interface ClosableContender extends Contender {
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
    name: 'bare BullMQ',
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
    name: 'bare add, awaited',
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

async function bytesAnEvent(url: string): Promise<RedisFigures['bytes']> {
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
  return { pending: (pending - before) / events, finished: (finished - before) / events };
}

/** A hub that emits to a service whose processes are down. */
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

async function usedBytes(admin: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await admin.info('memory'))?.[1]);
}

function countdown(): { of(count: number): Promise<void>; count(): void } {
  let left = 0;
  let finish = (): void => {};
  return {
    of: (count) =>
      new Promise((resolve) => {
        left = count;
        finish = resolve;
      }),
    count() {
      left -= 1;
      if (left === 0) finish();
    },
  };
}

async function inBatches(count: number, emit: () => Promise<unknown>): Promise<void> {
  for (let sent = 0; sent < count; sent += batch) await Promise.all(Array.from({ length: batch }, emit));
}
