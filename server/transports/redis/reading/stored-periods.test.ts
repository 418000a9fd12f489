import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../../scripts/redis-server.js';
import { envelope } from '../../contract/envelope.js';
import { silentLogger } from '../../logger.js';
import type { TransportManager } from '../../transport.js';
import { redisTransport } from '../redis-transport.js';
import { serverTime } from '../server-time.fixture.js';

const minuteMs = 60_000;
let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.release();
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Connects to data in which a process counted `received` events of type `a` in each of the minutes `ago`. */
async function connectTo(ago: readonly number[], received: number): Promise<TransportManager> {
  const prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix }).connect({ service: 's', logger: silentLogger });
  await transport.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  const minute = Math.floor((await serverTime(admin)) / minuteMs);
  const [found] = await admin.keys(`*${prefix}*`);
  const key = `${found?.slice(0, found.indexOf('}') + 1)}:minute:a`;
  for (const each of ago) {
    await admin.hset(key, { [`${minute - each}r`]: received, [`${minute - each}e20`]: 1, [`${minute - each}w-5`]: 1 });
  }
  return transport;
}

it.each([
  ['before', false],
  ['after', true],
])('counts minutes that are over, %s an event of the current one moves them to the history', async (_, moves) => {
  const ago = [2, 7, 17, 30, 58, 120, 60 * 23, 60 * 100];
  const transport = await connectTo(ago, 10);
  const more = moves ? 2 : 0;
  // A second event must not move or count anything twice.
  for (let event = 0; event < more; event += 1) await transport.publish([envelope('a')]);
  const { recent, histories, waitMs, durationMs } = await transport.metrics('a');
  const count = (names: 'received' | 'completed'): number[] =>
    [histories.minutes, histories.fiveMinutes, histories.hours].map((history) => sum(history[names]));
  expect(count('received')).toEqual([50 + more, 70 + more, 80 + more]);
  expect(count('completed')).toEqual([5 + more, 7 + more, 8 + more]);
  expect(recent.last5Min.received).toBe(10 + more);
  expect(sum(recent.minutes.received)).toBe(30 + more);
  expect(recent.minutes.received).toHaveLength(20);
  for (const history of [histories.minutes, histories.fiveMinutes, histories.hours]) {
    const known = history.waitP95Ms.filter((ms) => ms !== null);
    expect(known.length).toBeGreaterThan(2);
    expect(new Set(known).size).toBe(1);
    expect(new Set(history.durationP95Ms.filter((ms) => ms !== null)).size).toBe(1);
  }
  expect(waitMs.last5Min.p95).toBe(waitMs.lastHour.p95);
  expect(durationMs.lastHour.p50).toBeGreaterThan(40);
  const [durations] = await transport.durations(['a']);
  expect([durations?.waitMs, durations?.durationMs].map((each) => sum(each?.counts ?? []))).toEqual([8, 8]);
  const { activity } = await transport.overview({ types: ['a'], runTypes: [], runLimit: 1 });
  expect(activity[0]?.recent).toEqual(recent);
  const now = await serverTime(admin);
  const day = await transport.range(['a'], now - 20 * 60 * minuteMs, now);
  expect([day.stepMs, day.counts[0]?.received]).toEqual([5 * minuteMs, 60 + more]);
  await transport.close({ drainMs: 0 });
});
