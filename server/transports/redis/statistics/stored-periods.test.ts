import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import { maxTypesPerChange } from '../connection/script-limits.js';
import { redisTransport } from '../redis-transport.js';
import { serverTime } from '../server-time.fixture.js';
import { startTestRedis } from '../test-redis.fixture.js';

const minuteMs = 60_000;
const { server, admin } = await startTestRedis();

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Connects to data in which a process counted `received` events of type `a` in each of the minutes `ago`. */
async function connectTo(ago: readonly number[], received: number): Promise<TransportManager> {
  const prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix, emitTimeoutMs: 60_000 }).connect({
    service: 's',
    logger: silentLogger,
  });
  await transport.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  const minute = Math.floor((await serverTime(admin)) / minuteMs);
  const [found] = await admin.keys(`*${prefix}*`);
  const key = `${found?.slice(0, found.indexOf('}') + 1)}:minutes`;
  await admin.hset(key, { a: ago.map((each) => `${minute - each} r=${received} e20=1 w-5=1`).join('\n') });
  return transport;
}

/** Publishes an event of a type with those of so many other types that Redis adds the counts to the records at once. */
async function publishWithOthers(transport: TransportManager, type: string): Promise<void> {
  const others = Array.from({ length: maxTypesPerChange }, (_, index) => envelope(`other ${index}`));
  await transport.publish([envelope(type), ...others]);
}

it.each([
  ['before', false],
  ['after', true],
])('counts minutes that are over, %s an event of the current one moves them to the history', async (_, moves) => {
  const ago = [2, 7, 17, 30, 58, 120, 60 * 23, 60 * 100];
  const transport = await connectTo(ago, 10);
  const more = moves ? 2 : 0;
  // A second event must not move or count anything twice.
  for (let event = 0; event < more; event += 1) await publishWithOthers(transport, 'a');
  const { recent, histories, waitMs, durationMs } = await transport.counts.metrics('a');
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
  const [durations] = await transport.counts.durations(['a']);
  expect([durations?.waitMs, durations?.durationMs].map((each) => sum(each?.counts ?? []))).toEqual([8, 8]);
  const { activity } = await transport.lookup.overview({ types: ['a'], runTypes: [], runLimit: 1 });
  expect(activity[0]?.recent).toEqual(recent);
  const now = await serverTime(admin);
  const day = await transport.counts.range(['a'], now - 20 * 60 * minuteMs, now);
  expect([day.stepMs, day.counts[0]?.received]).toEqual([5 * minuteMs, 60 + more]);
  await transport.close({ drainMs: 0 });
});

it('keeps a week of a busy type with spread durations in at most 20 kB', async () => {
  let isMeasured = false;
  while (!isMeasured) isMeasured = await measureWeek();
});

/** Returns `false` if the minute ended meanwhile, so that the counts have a gap. */
async function measureWeek(): Promise<boolean> {
  const prefix = randomUUID();
  const type = 'payment.requested';
  const transport = redisTransport({ url: server.url, prefix, emitTimeoutMs: 60_000 }).connect({
    service: 's',
    logger: silentLogger,
  });
  await transport.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  const current = Math.floor((await serverTime(admin)) / minuteMs);
  const [found] = await admin.keys(`*${prefix}*`);
  const start = found?.slice(0, found.indexOf('}') + 1);
  // One minute per hour, and of the last day one per 5 minutes, has the counts of all: the periods over them are equal.
  const ago = Array.from({ length: 7 * 24 * 60 }, (_, index) => index + 1).filter(
    (each) => each <= 70 || (each <= 25 * 60 && each % 5 === 0) || each % 60 === 0,
  );
  const minutesPerRoll = 2;
  for (let end = ago.length; end > 0; end -= minutesPerRoll) {
    const lines: string[] = [];
    for (const each of ago.slice(Math.max(0, end - minutesPerRoll), end)) {
      const minutes = each <= 70 ? 1 : each <= 25 * 60 ? 5 : 60;
      const line = [`${current - each}`];
      const add = (name: string, perMinute: number): void => {
        line.push(`${name}=${perMinute * minutes}`);
      };
      add('r', 2_400);
      add('f', 120);
      add('x', 12);
      add('t', 240);
      // 8 buckets of each kind: the longest waiting times and durations are 4 times the shortest.
      for (let bucket = 0; bucket < 8; bucket += 1) {
        add(`w${10 + bucket}`, 300);
        add(`e${25 + bucket}`, 285);
        add(`d${25 + bucket}`, 45);
      }
      lines.push(line.join(' '));
    }
    await admin.hset(`${start}:minutes`, { [type]: lines.join('\n') });
    await publishWithOthers(transport, type);
  }
  const { histories } = await transport.counts.metrics(type);
  if (Math.floor((await serverTime(admin)) / minuteMs) !== current) {
    await transport.close({ drainMs: 0 });
    return false;
  }
  expect(new Set(histories.minutes.received.slice(0, -1))).toEqual(new Set([2_400]));
  expect(new Set(histories.minutes.completed.slice(0, -1))).toEqual(new Set([8 * 285]));
  for (const { waitP95Ms, durationP95Ms } of [histories.minutes, histories.fiveMinutes, histories.hours]) {
    expect(new Set(waitP95Ms.filter((ms) => ms !== null)).size).toBe(1);
    expect(new Set(durationP95Ms.filter((ms) => ms !== null)).size).toBe(1);
  }
  expect(histories.hours.received.filter((received) => received >= 60 * 2_400).length).toBeGreaterThan(140);
  const history = await admin.memory('USAGE', `${start}:history:${type}`, 'SAMPLES', 0);
  const shared = await Promise.all(['minutes', 'trends'].map((name) => admin.hstrlen(`${start}:${name}`, type)));
  expect(Number(history) + sum(shared)).toBeLessThanOrEqual(20_000);
  await transport.close({ drainMs: 0 });
  return true;
}
