import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Consumption } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed, failed, retry } from '../../contract/outcome.js';
import type { Delivery, Subscription } from '../../delivery.js';
import { silentLogger } from '../../transport.js';
import { CommandClient } from '../connection/command-client.js';
import { redisKey } from '../connection/keys.js';
import { scripts } from '../connection/script.js';
import { sharedQueue } from '../names.js';
import { resolveRedisOptions } from '../redis-options.js';
import { redisStage } from '../redis-stage.fixture.js';
import { type Lease, LeaseRecorder } from './lease-recorder.js';
import { LeaseRenewal } from './lease-renewal.js';
import { RedisDelivery } from './redis-delivery.js';

// Long enough for a busy machine: no lease ends because its process had no turn.
const lockDurationMs = 4_000;
const { server, admin, prefix, connect, consume, counts, next, until } = await redisStage({
  lockDurationMs,
  stalledIntervalMs: 200,
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await admin.config('SET', 'maxmemory', '0');
});

const runs: Subscription = { type: 'run', retainsRuns: true };

function leaseOf(delivery: Delivery): Lease {
  if (!(delivery instanceof RedisDelivery)) throw new Error('no delivery of Redis');
  return delivery.lease;
}

/** Resolves when the lease has been renewed after this call. */
async function untilRenewed(delivery: Delivery): Promise<void> {
  const { queue, jobId } = leaseOf(delivery);
  const lock = `${queue}${jobId}:lock`;
  await admin.pexpire(lock, 10 * lockDurationMs);
  await until(async () => (await admin.pttl(lock)) <= lockDurationMs);
}

async function commandsUsed(work: () => Promise<unknown>): Promise<string> {
  await admin.config('RESETSTAT');
  await work();
  return admin.info('commandstats');
}

describe('a lease', () => {
  it('ends with its outcome although the call that records it cannot lease the next job', async () => {
    const shop = await consume(['a'], { concurrency: 1 });
    await shop.transport.publish([envelope('a'), envelope('a')]);
    const first = await next(shop);
    const turns = redisKey(`{${prefix()}}`, 'turns', sharedQueue('shop'));
    await admin.rename(turns, `${turns}:moved`);
    await admin.set(turns, 'not a sorted set');
    expect(await first.commit(completed())).toBe('ok');
    expect(await counts(shop.transport, 'a')).toMatchObject({ completed: 1, pending: 1 });
    await admin.rename(`${turns}:moved`, turns);
    expect(await (await next(shop)).commit(completed())).toBe('ok');
  });

  it('does not accept the resent outcome of an earlier lease with the same token', async () => {
    const shop = await consume(['a'], { concurrency: 1 });
    await shop.transport.publish([envelope('a')]);
    const first = await next(shop);
    const firstLease = leaseOf(first);
    await first.commit(retry(0));
    const second = await next(shop);
    // Builds before this one used a token again if the worker fetched the next job at once.
    const earlier = { ...firstLease, token: leaseOf(second).token };
    const settings = resolveRedisOptions({ url: server.url, prefix: prefix() });
    const commands = new CommandClient(settings, silentLogger);
    const resent = new LeaseRecorder(commands, 'shop', settings).commit(earlier, first, retry(0), false);
    expect(await resent).toBe('fenced');
    await commands.close();
    expect(await second.commit(completed())).toBe('ok');
    expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1, completed: 1, retried: 1 });
  });

  it('is renewed while the wall clock is set back', async () => {
    const [one, two] = [await consume(['a']), await consume(['a'])];
    vi.useFakeTimers({ toFake: ['Date'] });
    await one.transport.publish([envelope('a'), envelope('a')]);
    await until(() => one.waiting.length + two.waiting.length === 2);
    vi.setSystemTime(Date.now() - 3_600_000);
    const deliveries = [...one.waiting, ...two.waiting];
    await Promise.all(deliveries.map(untilRenewed));
    expect(await Promise.all(deliveries.map((delivery) => delivery.commit(completed())))).toEqual(['ok', 'ok']);
  });

  it('is renewed while the memory of Redis is used up', async () => {
    const [one, two] = [await consume(['a']), await consume(['a'])];
    await one.transport.publish([envelope('a')]);
    await until(() => one.waiting.length + two.waiting.length === 1);
    const [delivery] = [...one.waiting, ...two.waiting];
    if (delivery === undefined) throw new Error('no delivery');
    await admin.config('SET', 'maxmemory', '1');
    await untilRenewed(delivery);
    expect(await delivery.commit(completed())).toBe('ok');
    expect(one.waiting.length + two.waiting.length).toBe(1);
  });

  it('is taken, committed and released while memory is used up, by scripts that nobody called before', async () => {
    const limited: Subscription = { type: 'a', concurrency: 2, perKey: { concurrency: 1 } };
    const one = await consume([limited]);
    await one.transport.publish([envelope('a', { key: 'k' }), envelope('a', { key: 'k' }), envelope('a')]);
    const deliveries = [await next(one), await next(one)];
    await admin.function('FLUSH');
    const two = await consume([limited]);
    await admin.config('SET', 'maxmemory', '1');
    for (const delivery of deliveries) expect(await delivery.commit(completed())).toBe('ok');
    await until(() => one.waiting.length + two.waiting.length === 1);
    await one.transport.close({ drainMs: 0 });
    await until(() => two.waiting.length === 1);
    expect(await (await next(two)).commit(completed())).toBe('ok');
    expect(await counts(two.transport, 'a')).toMatchObject({ completed: 3, pending: 0 });
  });

  it('is revoked in the delivery that lost it', async () => {
    const shop = await consume(['a']);
    await shop.transport.publish([envelope('a')]);
    const delivery = await next(shop);
    const reasons: Error[] = [];
    delivery.onRevoked = (reason) => void reasons.push(reason);
    const { queue, jobId } = leaseOf(delivery);
    await admin.set(`${queue}${jobId}:lock`, 'another');
    await until(() => reasons.length > 0);
    expect(reasons).toMatchObject([{ code: 'ERR_LEASE_LOST' }]);
  });

  it.each([
    { type: 'a', holder: 'this version', interruptions: 1 },
    { type: 'run', holder: 'this version', interruptions: 1 },
    { type: 'a', holder: 'an earlier version', interruptions: 0 },
    { type: 'run', holder: 'an earlier version', interruptions: 0 },
  ])(
    'of type $type that a process of $holder lost is shown as interrupted: $interruptions',
    async ({ type, ...expected }) => {
      const shop = await consume(['a', runs]);
      const { transport } = shop;
      const sent = envelope(type);
      await transport.publish([sent]);
      const lost = await next(shop);
      const { queue, jobId } = leaseOf(lost);
      // Earlier versions do not have the field, and are expected to see an attempt with an error.
      if (expected.interruptions === 0) await admin.hdel(queue + jobId, 'leased');
      const attempts = async () => (await transport.lookup.find(sent.id))[0]?.attempts ?? [];
      const interrupted = async () => (await attempts()).filter(({ isInterrupted }) => isInterrupted === true);
      const startedAt = Number(await admin.hget(queue + jobId, 'processedOn'));
      expect(await interrupted()).toEqual([]);
      await admin.del(`${queue}${jobId}:lock`);
      expect(await interrupted()).toHaveLength(expected.interruptions);
      const again = await next(shop);
      const recorded = await interrupted();
      expect(recorded).toEqual(
        Array.from({ length: expected.interruptions }, () => ({
          attempt: 1,
          startedAt,
          endedAt: expect.any(Number),
          isInterrupted: true,
        })),
      );
      expect(recorded.every(({ endedAt = 0 }) => endedAt >= startedAt)).toBe(true);
      await again.commit(retry(0));
      await (await next(shop)).commit(completed());
      expect(await interrupted()).toEqual(recorded);
      expect((await attempts()).filter(({ error }) => error !== undefined)).toHaveLength(type === 'a' ? 1 : 0);
    },
  );

  it('is not revoked by a late answer about an earlier lease of the same event', async () => {
    const shop = await consume(['a']);
    await shop.transport.publish([envelope('a')]);
    const current = leaseOf(await next(shop));
    const earlier = { ...current, starts: current.starts - 1 };
    const settings = resolveRedisOptions({ url: server.url, prefix: prefix(), lockDurationMs });
    const connection = new Redis(server.url);
    const renewal = new LeaseRenewal(connection, settings, silentLogger);
    const lost: string[] = [];
    const endEarlier = renewal.hold(earlier, () => lost.push('earlier'));
    await admin.client('PAUSE', 10_000, 'WRITE');
    const fcall = vi.spyOn(connection, 'call');
    renewal.start();
    await until(() => fcall.mock.calls.length > 0);
    endEarlier();
    renewal.hold(current, () => lost.push('current'));
    // A renewal begins after the answer to the one before. Its own answer may tell that this machine was too slow.
    const lostBefore: (readonly string[])[] = [];
    fcall.mockImplementationOnce(async () => {
      lostBefore.push([...lost]);
      return [];
    });
    await admin.client('UNPAUSE');
    await until(() => lostBefore.length > 0 || lost.length > 0);
    renewal.stop();
    connection.disconnect();
    expect(lostBefore[0] ?? lost).toEqual([]);
  });

  it('writes a checkpoint when Redis has memory again', async () => {
    const shop = await consume([runs]);
    await shop.transport.publish([envelope('run')]);
    const delivery = await next(shop);
    await admin.config('SET', 'maxmemory', '1');
    let isWritten = false;
    const writing = Promise.resolve(delivery.checkpoint('pick', '{"output":1}')).finally(() => {
      isWritten = true;
    });
    await until(async () => (await admin.info('errorstats')).includes('errorstat_OOM'));
    expect(isWritten).toBe(false);
    await admin.config('SET', 'maxmemory', '0');
    expect(await writing).toBe('ok');
    expect(await delivery.commit(completed())).toBe('ok');
  });
});

it('delivers no run that arrives while the connection closes', async () => {
  const shop = await consume([runs]);
  let proceed = (): void => {};
  const reached = new Promise<void>((resolve) => {
    const run = scripts.loadRun.run.bind(scripts.loadRun);
    vi.spyOn(scripts.loadRun, 'run').mockImplementation(async (...args) => {
      resolve();
      await new Promise<void>((go) => {
        proceed = go;
      });
      return run(...args);
    });
  });
  await shop.transport.publish([envelope('run')]);
  await reached;
  vi.restoreAllMocks();
  const closing = shop.transport.close({ drainMs: 0 });
  await delay(50);
  proceed();
  await closing;
  expect(shop.waiting).toEqual([]);
  const other = await consume([runs]);
  expect((await next(other)).attempt).toBe(1);
});

it('reads neither payloads nor results nor outputs for an overview', async () => {
  const shop = await consume([runs]);
  const large = 'x'.repeat(200_000);
  await shop.transport.publish([envelope('run', { body: JSON.stringify(large) })]);
  const delivery = await next(shop);
  await delivery.checkpoint('pick', `{"durationMs":1,"output":"${large}"}`);
  await delivery.commit({ ...completed(), result: `"${large}"` });
  const query = { types: ['run'], runTypes: ['run'], runLimit: 50 };
  await admin.config('RESETSTAT');
  const { runs: listed } = await shop.transport.lookup.overview(query);
  const sent = Number(/total_net_output_bytes:(\d+)/.exec(await admin.info('stats'))?.[1]);
  expect(sent).toBeLessThan(10_000);
  expect(listed[0]).toMatchObject([{ status: 'completed', result: undefined }]);
  expect(listed[0]?.[0]?.checkpoints.get('pick')).toBe('{"durationMs":1,"output":null}');
  const whole = await shop.transport.runs.get('run', delivery.envelope.id);
  expect(whole).toMatchObject({ result: `"${large}"`, envelope: { body: JSON.stringify(large) } });
  expect(whole?.checkpoints.get('pick')).toBe(`{"durationMs":1,"output":"${large}"}`);
});

it('resolves runEnded for a run that ends while its listener is disconnected', async () => {
  const [shop, waiting] = [await consume([runs]), connect('shop')];
  const { signal } = new AbortController();
  const sent = Array.from({ length: 10 }, () => envelope('run'));
  await shop.transport.publish(sent);
  await until(() => shop.waiting.length === sent.length);
  await waiting.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  const ended = sent.map(({ id }) => waiting.runs.ended('run', id, signal));
  await until(async () => {
    const waiters = sent.map(({ id }) => admin.exists(`{${prefix()}}:run:shop/run:e-${id}:waiters`));
    return (await Promise.all(waiters)).every((count) => count === 1);
  });
  for (const [index, delivery] of shop.waiting.entries()) {
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // Each end falls at another point of the reconnection.
    for (let ping = 0; ping < index ** 3; ping += 1) await admin.ping();
    await delivery.commit(completed());
  }
  expect((await Promise.all(ended)).map((run) => run?.status)).toEqual(sent.map(() => 'completed'));
  await waiting.close({ drainMs: 0 });
});

it('tells a process of the runs alone that it waits for', async () => {
  const shop = await consume([runs]);
  const others = await Promise.all(Array.from({ length: 5 }, () => consume([runs], { concurrency: 1 })));
  const sent = envelope('run');
  const { signal } = new AbortController();
  for (const { transport } of others) await transport.runs.ended('run', 'unknown', signal);
  await shop.transport.publish([sent]);
  const ended = shop.transport.runs.ended('run', sent.id, signal);
  // The run may be in another process, whose outcome would otherwise come first.
  await until(async () => (await admin.exists(`{${prefix()}}:run:shop/run:e-${sent.id}:waiters`)) === 1);
  await until(() => [shop, ...others].some(({ waiting }) => waiting.length > 0));
  const [holder] = [shop, ...others].filter(({ waiting }) => waiting.length > 0);
  const statistics = await commandsUsed(async () => {
    await holder?.shift().commit(completed());
    await ended;
  });
  expect(/cmdstat_publish:calls=(\d+)/.exec(statistics)?.[1]).toBe('1');
});

it('ends an event as a whole if one behind it in the same call meets a broken record', async () => {
  // No call of a fetch is under way when all slots are taken: the turn is sent in halves.
  const shop = await consume(['a'], { concurrency: 4 });
  await shop.transport.publish(Array.from({ length: 4 }, () => envelope('a')));
  const [first, broken, ...others] = [await next(shop), await next(shop), await next(shop), await next(shop)];
  const job = ({ envelope: { id } }: Delivery): string => `{${prefix()}}:queue:${sharedQueue('shop')}:e-${id}`;
  const record = `{${prefix()}}:dedupe:broken`;
  await admin.set(record, 'no hash');
  await admin.hset(job(broken), 'dedupe', record);
  const outcomes = [first, broken, ...others].map((delivery) => delivery.commit(completed()));
  await Promise.allSettled(outcomes);
  expect(await counts(shop.transport, 'a')).toMatchObject({ received: 4, completed: 3 });
  expect(await admin.exists(job(first))).toBe(0);
});

it('starts the events of a backlog with few calls', async () => {
  const shop = await consume(['a'], { concurrency: 200 });
  const calls = vi.spyOn(scripts.advanceJobs, 'run');
  await shop.transport.publish(Array.from({ length: 200 }, () => envelope('a')));
  await until(() => shop.waiting.length === 200);
  // Each takes twice as many as the one before.
  expect(calls.mock.calls.length).toBeLessThan(20);
});

it('ends many waiting runs in time that grows with their number', async () => {
  const { transport } = await consume([runs]);
  await transport.close({ drainMs: 0 });
  const manager = connect('shop');
  // Unlike the duration of a command, it does not contain the time of other processes.
  const processorMs = async (): Promise<number> => {
    const used = [...(await admin.info('cpu')).matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)];
    return used.reduce((sum, [, seconds]) => sum + 1_000 * Number(seconds), 0);
  };
  const end = async (count: number): Promise<number> => {
    const sent = Array.from({ length: count }, () => envelope('run'));
    for (let from = 0; from < count; from += 250) await manager.publish(sent.slice(from, from + 250));
    const before = await processorMs();
    const reason = new Error('cancelled');
    for (let from = 0; from < count; from += 250) {
      await Promise.all(
        sent.slice(from, from + 250).map(({ id }) => manager.runs.end('run', id, failed('cancelled'), reason)),
      );
    }
    return ((await processorMs()) - before) / count;
  };
  await end(250);
  let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // What else the machine and the server do adds to the time: the least of some rounds is what the work takes.
  for (let round = 0; round < 5 && !(many < 3 * few); round += 1) {
    few = Math.min(few, await end(500));
    many = Math.min(many, await end(4_000));
  }
  expect(many).toBeLessThan(3 * few);
  await manager.close({ drainMs: 0 });
});

it('records a checkpoint that is followed by the outcome in the same turn', async () => {
  const shop = await consume([runs]);
  await shop.transport.publish([envelope('run')]);
  const delivery = await next(shop);
  const recorded = delivery.checkpoint('step', '1');
  const ended = delivery.commit(completed());
  expect([await recorded, await ended]).toEqual(['ok', 'ok']);
});

describe('the commands per step of a run', () => {
  /** Returns the number of commands that Redis ran, those of scripts included. */
  const commandsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const statistics = await commandsUsed(work);
    return [...statistics.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  };
  const startRun = async (shop: Consumption): Promise<Delivery> => {
    await shop.transport.publish([envelope('run')]);
    return next(shop);
  };

  it('are the same for few and for many that end in one turn', async () => {
    const shop = await consume([runs]);
    const perStep: number[] = [];
    for (const count of [250, 2_500]) {
      const delivery = await startRun(shop);
      const recorded: string[] = [];
      delivery.onRecorded = (name) => recorded.push(name);
      const names = Array.from({ length: count }, (_, index) => `step ${index}`);
      const commands = await commandsOf(async () => {
        const results = await Promise.all(names.map((name) => delivery.checkpoint(name, '1')));
        expect(new Set(results)).toEqual(new Set(['ok']));
      });
      expect(recorded).toEqual(names);
      perStep.push(commands / count);
      await delivery.commit(completed());
    }
    const [few = 0, many = 0] = perStep;
    expect(many).toBeLessThan(few * 1.1);
  });

  it('are the same for few and for many whose first attempt fails', async () => {
    const shop = await consume([runs]);
    const perStep: number[] = [];
    for (const count of [250, 2_500]) {
      const delivery = await startRun(shop);
      const names = Array.from({ length: count }, (_, index) => `step ${index}`);
      const commands = await commandsOf(async () => {
        await Promise.all(names.map((name) => delivery.checkpoint(`attempt ${name}`, '1')));
        await delivery.wait(names.map((name) => ({ key: `retry ${name}`, delayMs: 600_000, isRetry: true })));
        const results = await Promise.all(names.map((name) => delivery.checkpoint(name, '1')));
        expect(new Set(results)).toEqual(new Set(['ok']));
      });
      perStep.push(commands / count);
      await delivery.commit(completed());
    }
    const [few = 0, many = 0] = perStep;
    expect(many).toBeLessThan(few * 1.1);
  });
});
