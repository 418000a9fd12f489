import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { minuteMs } from '../../limits.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import { CommandClient } from '../connection/command-client.js';
import { redisKey } from '../connection/keys.js';
import { scripts } from '../connection/script.js';
import { maxHistoriesPerScript } from '../connection/script-limits.js';
import { resolveRedisOptions } from '../redis-options.js';
import { redisTransport } from '../redis-transport.js';
import { serverTime } from '../server-time.fixture.js';
import { startTestRedis } from '../test-redis.fixture.js';
import { HistoryRoll } from './history-roll.js';

const { server, admin } = await startTestRedis();

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Starts a process on empty data, and connects others that move minutes to the histories. */
async function setUp() {
  const options = { url: server.url, prefix: randomUUID(), emitTimeoutMs: 60_000 };
  const transport = redisTransport(options).connect({ service: 's', logger: silentLogger });
  await transport.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  onTestFinished(async () => void (await transport.close({ drainMs: 0 })));
  const settings = resolveRedisOptions(options);
  const key = (kind: Parameters<typeof redisKey>[1], ...parts: string[]): string =>
    redisKey(settings.prefix, kind, ...parts);
  const newRoll = (beforeStore = async (): Promise<void> => {}): HistoryRoll => {
    const commands = new CommandClient(settings, silentLogger);
    commands.open();
    onTestFinished(() => commands.close());
    const run = commands.runScript.bind(commands);
    commands.runScript = async (script, args) => {
      if (script === scripts.storeHistories) await beforeStore();
      return run(script, args);
    };
    return new HistoryRoll(commands, randomUUID(), silentLogger);
  };
  /** Writes what scripts counted in a minute. */
  const count = async (minute: number, counts: ReadonlyMap<string, string>): Promise<void> => {
    await admin.hset(key('counted', String(minute)), counts);
    await admin.zadd(key('counted-minutes'), minute, minute);
  };
  return { transport, newRoll, count, key };
}

/** Returns the current minute of the server, with some seconds left of it. */
async function currentMinute(): Promise<number> {
  for (;;) {
    const now = await serverTime(admin);
    if (now % minuteMs < minuteMs - 20_000) return Math.floor(now / minuteMs);
    await admin.call('BLPOP', randomUUID(), 1);
  }
}

async function read(transport: TransportManager): Promise<unknown> {
  const [metrics, overview, [durations]] = await Promise.all([
    transport.counts.metrics('a'),
    transport.lookup.overview({ types: ['a', 'idle'], runTypes: [], runLimit: 1 }),
    transport.counts.durations(['a']),
  ]);
  return [metrics, overview.activity, overview.total, durations?.waitMs.counts, durations?.durationMs.counts];
}

const perMinute = 'r=10 e20=8 d20=1 f=2 x=1 t=3 w-5=10 p=400 q=61234';

it('shows the same before and after minutes that are over move to the histories', async () => {
  const { transport, newRoll, count, key } = await setUp();
  const minute = await currentMinute();
  for (const ago of [0, 2, 7, 17, 30, 58, 120, 60 * 23, 60 * 48, 60 * 100]) {
    await count(
      minute - ago,
      new Map([
        ['a', perMinute],
        ['/', perMinute],
      ]),
    );
  }
  const before = await read(transport);
  await Promise.all(Array.from({ length: 3 }, () => newRoll().run()));
  expect(await admin.zrange(key('counted-minutes'), '0', '-1')).toEqual([String(minute)]);
  expect(await read(transport)).toEqual(before);
  const { histories, durationMs, waitMs, recent } = await transport.counts.metrics('a');
  const { minutes, fiveMinutes, hours } = histories;
  expect([minutes, fiveMinutes, hours].map(({ received }) => sum(received))).toEqual([60, 90, 100]);
  expect(recent.last5Min).toEqual({ received: 20, completed: 16, failed: 4, cancelled: 2, retried: 6 });
  expect([durationMs.last5Min.max, waitMs.lastHour.max]).toEqual([61.234, 0.4]);
});

it('counts a minute once if two processes move it at the same time', async () => {
  const { transport, newRoll, count, key } = await setUp();
  const minute = await currentMinute();
  await count(minute - 70, new Map([['a', perMinute]]));
  await newRoll().run();
  await admin.del(key('rolling'));
  for (const ago of [2, 1]) await count(minute - ago, new Map([['a', perMinute]]));
  // The other one begins when this one has read the minute, and after the time in which it is alone.
  const both = vi.fn(async () => {
    await admin.del(key('rolling'));
    await newRoll().run();
    expect(await admin.zcard(key('counted-minutes'))).toBe(0);
  });
  await newRoll(both).run();
  expect(both).toHaveBeenCalledOnce();
  const { histories } = await transport.counts.metrics('a');
  expect([histories.minutes, histories.hours].map(({ received }) => sum(received))).toEqual([20, 30]);
});

it('leaves counts that were added to a minute after it was read, and moves them with the next heartbeat', async () => {
  const { transport, newRoll, count, key } = await setUp();
  const minute = await currentMinute();
  await count(minute - 1, new Map([['a', perMinute]]));
  let times = 0;
  // As after a failover to a server whose clock is late.
  await newRoll(async () => {
    if (times === 0) await count(minute - 1, new Map([['a', perMinute.replace('r=10', 'r=12')]]));
    times += 1;
  }).run();
  await admin.del(key('rolling'));
  await newRoll().run();
  expect(await admin.zcard(key('counted-minutes'))).toBe(0);
  expect((await transport.counts.metrics('a')).recent.last5Min.received).toBe(12);
});

it('stores the histories of many types in portions, and leaves those of idle ones as they are', async () => {
  const { transport, newRoll, count, key } = await setUp();
  const minute = await currentMinute();
  const types = Array.from({ length: 4 * maxHistoriesPerScript + 3 }, (_, index) => `type-${index}`);
  const long = `${perMinute} ${Array.from({ length: 20 }, (_, index) => `d${index}=1`).join(' ')}`;
  const stores = vi.fn(async () => {});
  const roll = newRoll(stores);
  // The second time after the clock of the server was set back.
  for (const counts of [perMinute, long]) {
    await count(minute - 3, new Map([...types, 'idle'].map((type) => [type, counts])));
    await roll.run();
  }
  const before = await admin.hgetall(key('history', 'idle'));
  stores.mockClear();
  await count(minute - 2, new Map(types.map((type) => [type, long])));
  await roll.run();
  expect(stores.mock.calls.length).toBeGreaterThanOrEqual(5);
  expect(await admin.zcard(key('counted-minutes'))).toBe(0);
  expect(await admin.hgetall(key('history', 'idle'))).toEqual(before);
  const { activity } = await transport.lookup.overview({ types: [...types, 'idle'], runTypes: [], runLimit: 1 });
  expect(activity.map(({ recent }) => recent.last5Min.received)).toEqual([...types.map(() => 30), 20]);
});

it('moves the other minutes if something else has changed one', async () => {
  const { transport, newRoll, count, key } = await setUp();
  const minute = await currentMinute();
  await count(minute - 5, new Map([['a', 'x y']]));
  await admin.hset(key('history', 'a'), { version: 'x', latest: '!', past: '__' });
  await admin.hset(key('last-hours'), 'a', 'é');
  await admin.zadd(key('counted-minutes'), 7, 'x y', minute - 4, minute - 4);
  await count(minute - 3, new Map([['a', perMinute]]));
  await newRoll().run();
  expect(await admin.zcard(key('counted-minutes'))).toBe(0);
  expect((await transport.counts.metrics('a')).recent.last5Min.received).toBe(10);
});

it('reads the parts of a history that are needed: none for a poll, and of a range the hours that it covers', async () => {
  const { transport, newRoll, count, key } = await setUp();
  const minute = await currentMinute();
  const types = Array.from({ length: 3 }, (_, index) => `type-${index}`);
  for (let ago = 60 * 30; ago > 0; ago -= 10) {
    await count(minute - ago, new Map(types.map((type) => [type, perMinute])));
  }
  await newRoll().run();
  expect((await admin.hkeys(key('history', 'type-0'))).length).toBeGreaterThan(29);
  const monitor = await admin.monitor();
  onTestFinished(() => monitor.disconnect());
  const commands: string[][] = [];
  monitor.on('monitor', (_time: string, args: string[]) => commands.push(args));
  /** Returns the parts of histories of types that Redis reads meanwhile. */
  const partsOf = async (read: () => Promise<unknown>): Promise<readonly string[]> => {
    commands.length = 0;
    await read();
    const end = randomUUID();
    await admin.get(end);
    await vi.waitFor(() => expect(commands.some((args) => args.includes(end))).toBe(true));
    const history = key('history', 'type-');
    return commands.flatMap(([name = '', field = '', ...parts]) => {
      if (!field.startsWith(history)) return [];
      return name.toUpperCase() === 'HGETALL' ? ['all'] : parts;
    });
  };
  const poll = () => transport.lookup.overview({ types, runTypes: [], runLimit: 1 });
  expect(await partsOf(poll)).toEqual([]);
  const at = (ago: number): number => (minute - ago) * minuteMs;
  expect(await partsOf(() => transport.counts.range(types, at(30), at(0)))).toEqual([]);
  const hour = Math.floor((minute - 20 * 60) / 60);
  const range = async (): Promise<void> => {
    const { counts, stepMs } = await transport.counts.range(types, hour * 60 * minuteMs, (hour * 60 + 70) * minuteMs);
    expect(stepMs).toBe(5 * minuteMs);
    const received = counts.map((each) => each.received);
    expect(new Set(received).size).toBe(1);
    expect(received[0]).toBeGreaterThanOrEqual(60);
  };
  expect(await partsOf(range)).toEqual(types.flatMap(() => ['latest', String(hour), String(hour + 1)]));
  expect(await partsOf(() => transport.counts.range(types, at(60 * 100), at(0)))).toEqual(
    types.flatMap(() => ['latest', 'hours']),
  );
});
