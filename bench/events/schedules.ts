import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createHub, type EventRef, type Hub, type Transport } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { sqliteTransport } from '../../dist/transports/sqlite/index.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { countdown, inBatches } from '../measuring/batches.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';
import { usedBytes } from '../redis/redis.js';

const total = 100_000;
const few = 1_000;
const rounds = 5;
/** Milliseconds in which the schedules of a round are set, before they are due. */
const leadMs = 3_000;

/** Stored schedules, one per customer: the time to set some, and the delay of their first due times, with few and with all. */
export async function schedules(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-bench-'));
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  try {
    return [
      ...(await scheduled('memory', undefined, heapBytes)),
      ...(await scheduled('SQLite', sqliteTransport({ file: join(folder, 'hub.db') }), heapBytes)),
      ...(await scheduled('Redis', redisTransport({ url: server.url, prefix: randomUUID() }), () => usedBytes(admin))),
    ];
  } finally {
    admin.disconnect();
    await server.release();
    rmSync(folder, { recursive: true });
  }
}

async function scheduled(name: string, transport: Transport | undefined, bytes: () => Promise<number>): Promise<Row[]> {
  const hub = createHub(transport && { transport });
  const handled = countdown();
  const due = hub.event<{ customer: string }>({ type: 'due', handler: () => handled.count() });
  await hub.start();
  const before = await bytes();
  const customers = new Customers(hub, due);
  /** Returns the median of the milliseconds from a due time of many schedules to the last of their events. */
  const delay = async (): Promise<number> => {
    const delays: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const dueAt = Math.ceil((Date.now() + leadMs) / 1_000) * 1_000;
      const done = handled.of(few);
      await customers.set(few, dueAt);
      if (Date.now() >= dueAt) throw new Error('the schedules were due before all were set');
      await done;
      delays.push(Date.now() - dueAt);
    }
    return median(delays);
  };
  const [fewRate, fewDelay] = [await customers.set(few), await delay()];
  await customers.set(total - customers.count - (rounds + 1) * few);
  const [rate, manyDelay] = [await customers.set(few), await delay()];
  const perSchedule = ((await bytes()) - before) / customers.count;
  await hub.stop();
  const all = total.toLocaleString('en');
  const peer = (figure: number): NonNullable<Row['peer']> => ({
    name: `the first ${few.toLocaleString('en')}`,
    figure,
  });
  return [
    {
      scenario: `${name}: set the last ${few.toLocaleString('en')} of ${all} schedules, 100 at once`,
      unit: 'schedules/s',
      hubline: rate,
      peer: peer(fewRate),
      target: { of: 'ratio', limit: 'at least', value: 0.8 },
    },
    {
      scenario: `${name}: ${few.toLocaleString('en')} of ${all} schedules are due, until the last is handled`,
      unit: 'ms',
      hubline: manyDelay,
      peer: peer(fewDelay),
      target: { of: 'ratio', limit: 'at most', value: 1.25 },
    },
    { scenario: `${name}: memory of one of ${all} schedules`, unit: 'bytes', hubline: perSchedule },
  ];
}

/** Customers with a schedule each. */
class Customers {
  readonly #hub: Hub;
  readonly #due: EventRef<{ customer: string }>;
  count = 0;

  constructor(hub: Hub, due: EventRef<{ customer: string }>) {
    this.#hub = hub;
    this.#due = due;
  }

  /**
   * Sets the schedules of further customers. Returns their number per second.
   *
   * @param dueAt their only due time in epoch milliseconds; without it they are due each night
   */
  async set(number: number, dueAt?: number): Promise<number> {
    const first = this.count;
    this.count += number;
    const startedAt = performance.now();
    await inBatches(number, (index) => {
      const key = `customer-${first + index}`;
      const common = { name: 'digest', key, emit: this.#due, payload: { customer: key } };
      return dueAt === undefined
        ? this.#hub.schedules.set({ ...common, cron: `${index % 60} 2 * * *`, timeZone: 'Europe/Oslo' })
        : this.#hub.schedules.set({ ...common, everyMs: 1_000, startAt: dueAt, endAt: dueAt });
    });
    return (number / (performance.now() - startedAt)) * 1_000;
  }
}

/** Returns the bytes of the heap after a collection. */
async function heapBytes(): Promise<number> {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
