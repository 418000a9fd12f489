import { setMaxListeners } from 'node:events';
import { expect, it } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { cpuMsSince } from '../../testing/cpu-time.fixture.js';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import type { ContractHarness } from '../contract/contract-stage.js';
import { describeTransport } from '../contract/describe-transport.js';
import { envelope } from '../contract/envelope.js';
import { failed } from '../contract/outcome.js';
import { describeDeadLetterAge } from '../contract/records/dead-letter-age.js';
import { maxDeadLetters } from '../contract/records/dead-letters.js';
import type { Delivery } from '../delivery.js';
import { BackpressureError } from '../errors.js';
import { silentLogger, type TransportManager } from '../transport.js';
import { type MemoryTransportOptions, memoryTransport } from './memory-transport.js';
import { started } from './started-transport.fixture.js';

async function createHarness(options: MemoryTransportOptions): Promise<ContractHarness> {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, ...options });
  return {
    connect: (service) => transport.connect({ service, logger: silentLogger }),
    advance: (ms) => clock.advance(ms),
    now: async () => clock.now(),
    async release() {
      await clock.settle();
      expect(clock.pendingTimers).toBe(0);
    },
  };
}

describeTransport('memory', () => createHarness({ maxDeadLetters }));
describeDeadLetterAge('memory', (maxDeadLetterAgeMs) => createHarness({ maxDeadLetterAgeMs }));

const done = { status: 'completed', durationMs: 1, followUps: [] } as const;

it('drains waiting events, and those that become due in time, if no other connection handles them', async () => {
  const { clock, transport, deliveries } = await started({}, ['a']);
  await transport.publish([envelope('a'), envelope('a', { delayMs: 500 }), envelope('a', { delayMs: 5_000 })]);
  const closing = transport.close({ drainMs: 1_500 });
  for (let i = 0; i < 2; i += 1) {
    await clock.advance(500);
    await deliveries.shift()?.commit(done);
  }
  expect(await closing).toEqual({ released: 0, overdue: 0 });
  expect(await transport.counts.metrics('a')).toMatchObject({ received: 3, completed: 2, pending: 1 });
  await clock.settle();
  expect(clock.pendingTimers).toBe(0);
});

it('serves types in turn, so that a burst of one does not delay another', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  const order: string[] = [];
  await transport.start({
    concurrency: 1,
    subscriptions: [{ type: 'burst' }, { type: 'rare' }],
    onDelivery: (delivery) => {
      order.push(delivery.envelope.type);
      void delivery.commit(done);
    },
  });
  await transport.publish([...Array.from({ length: 100 }, () => envelope('burst')), envelope('rare')]);
  await clock.settle();
  expect(order.indexOf('rare')).toBeLessThan(3);
  expect(order).toHaveLength(101);
});

it('serves types with and without their own limits in turn, so that a burst does not delay the others', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  const order: string[] = [];
  await transport.start({
    concurrency: 1,
    subscriptions: [{ type: 'burst', concurrency: 4 }, { type: 'rare' }],
    onDelivery: (delivery) => {
      order.push(delivery.envelope.type);
      void delivery.commit(done);
    },
  });
  await transport.publish([...Array.from({ length: 1_000 }, () => envelope('burst')), envelope('rare')]);
  await clock.settle();
  expect(order.indexOf('rare')).toBeLessThan(3);
});

it('drains the types that only the closing connection handles, and leaves the others', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const deliveries: Delivery[] = [];
  const connect = async (types: readonly string[]): Promise<TransportManager> => {
    const connection = transport.connect({ service: 'shop', logger: silentLogger });
    const subscriptions = types.map((type) => ({ type }));
    await connection.start({ concurrency: 9, subscriptions, onDelivery: (delivery) => deliveries.push(delivery) });
    return connection;
  };
  const one = await connect(['mine', 'both']);
  const two = await connect(['foreign', 'both']);
  await one.publish([envelope('mine', { delayMs: 50 }), envelope('foreign', { delayMs: 9_000 })]);
  await one.publish([envelope('both', { delayMs: 9_000 })]);
  let isClosed = false;
  const closing = one.close({ drainMs: 60_000 }).then(() => {
    isClosed = true;
  });
  await clock.advance(50);
  expect(deliveries.map((delivery) => delivery.envelope.type)).toEqual(['mine']);
  expect(isClosed).toBe(false);
  await deliveries[0]?.commit(done);
  await closing;
  expect(clock.monotonic()).toBe(50);
  await two.close({ drainMs: 0 });
});

it('closes at once if nothing is pending, whatever its drainMs', async () => {
  const { transport } = await started({}, ['a']);
  expect(await transport.close({ drainMs: Number.POSITIVE_INFINITY })).toEqual({ released: 0, overdue: 0 });
});

it('resolves runEnded for more runs than it retains that end at one time', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  const deliveries: Delivery[] = [];
  await transport.start({
    concurrency: 200,
    subscriptions: [{ type: 'run', retainsRuns: true }],
    onDelivery: (delivery) => deliveries.push(delivery),
  });
  const sent = Array.from({ length: 200 }, () => envelope('run'));
  await transport.publish(sent);
  await clock.settle();
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const ends = sent.map(({ id }) => transport.runs.ended('run', id, signal));
  for (const delivery of deliveries) void delivery.commit({ ...done, result: '1' });
  expect((await Promise.all(ends)).filter((run) => run?.result === '1')).toHaveLength(200);
});

it('does not wait at close for a delayed run that was ended from outside', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, maxPending: 1 }).connect({ service: 'shop', logger: silentLogger });
  await transport.start({ concurrency: 1, subscriptions: [{ type: 'run', retainsRuns: true }], onDelivery: () => {} });
  const error = { name: 'Error', message: 'cancelled' };
  for (let i = 0; i < 3; i += 1) {
    const run = envelope('run', { delayMs: 1_000 });
    await transport.publish([run]);
    const outcome = { status: 'failed', durationMs: 0, error, followUps: [] } as const;
    expect(await transport.runs.end('run', run.id, outcome, new Error('cancelled'))).toBe('ok');
  }
  expect(await transport.close({ drainMs: 60_000 })).toEqual({ released: 0, overdue: 0 });
  expect(clock.monotonic()).toBe(0);
});

it('yields to the event loop during a long series of deliveries', async () => {
  const transport = memoryTransport().connect({ service: 'shop', logger: silentLogger });
  let ran = 0;
  await transport.start({
    concurrency: 1,
    subscriptions: [{ type: 'a' }],
    onDelivery: (delivery) => {
      ran += 1;
      void delivery.commit(done);
    },
  });
  await transport.publish(Array.from({ length: 10_000 }, () => envelope('a')));
  await new Promise(setImmediate);
  expect(ran).toBeGreaterThan(0);
  expect(ran).toBeLessThan(10_000);
  await transport.close({ drainMs: 60_000 });
  expect(ran).toBe(10_000);
});

it.each([-1, 1.5, Number.NaN])('refuses maxDeadLetters %j', (limit) => {
  expect(() => memoryTransport({ maxDeadLetters: limit })).toThrow(InvalidOptionError);
});

it('holds a million keys, and evicts expired ones on writes', async () => {
  const clock: FakeClock = createFakeClock();
  const { kv } = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  for (let i = 0; i < 1_000_000; i += 1) await kv.set(`old-${i}`, 'x', { ttlMs: 10 });
  await expect(kv.set('new', 'x')).rejects.toThrow(BackpressureError);
  await clock.advance(20);
  for (let i = 0; i < 10; i += 1) await kv.set(`new-${i}`, 'x');
  expect(await kv.get('new-9')).toBe('x');
});

it.each<[string, (manager: TransportManager, run: Delivery) => (n: number) => Promise<unknown>]>([
  ['steps of a run', (_, run) => async (n) => run.checkpoint(`step-${n}`, '{"output":1}')],
  [
    'key-value writes',
    ({ kv }) =>
      (n) =>
        kv.set(`k${n % 10}`, 'v'),
  ],
  [
    'key-value reads',
    ({ kv }) =>
      () =>
        kv.get('k'),
  ],
  ['cancellations', (manager) => () => manager.runs.cancel('unknown', () => failed('no'))],
  ['replays', (manager) => () => manager.deadLetters.replay('unknown')],
  ['ends of runs', (manager) => () => manager.runs.end('run', 'unknown', done, new Error('cancelled'))],
])('lets timers fire during a loop of awaited %s', async (_, callOf) => {
  const transport = memoryTransport().connect({ service: 'shop', logger: silentLogger });
  const run = new Promise<Delivery>((resolve) => {
    const subscriptions = [{ type: 'run', retainsRuns: true }];
    void transport.start({ concurrency: 100, subscriptions, onDelivery: resolve });
  });
  await transport.publish([envelope('run')]);
  const call = callOf(transport, await run);
  let hasFired = false;
  setTimeout(() => {
    hasFired = true;
  }, 10);
  const until = performance.now() + 60_000;
  for (let n = 0; !hasFired && performance.now() < until; n += 1) await call(n);
  expect(hasFired).toBe(true);
  await transport.close({ drainMs: 0 });
});

it('ends tens of thousands of waiting and delayed runs from outside in linear time', async () => {
  const transport = memoryTransport().connect({ service: 'shop', logger: silentLogger });
  const subscriptions = [{ type: 'run', retainsRuns: true, concurrency: 1 }];
  await transport.start({ concurrency: 100, subscriptions, onDelivery: () => {} });
  const sent = Array.from({ length: 40_000 }, (_, i) => envelope('run', { delayMs: i % 2 === 0 ? 0 : 60_000 }));
  await transport.publish(sent);
  const before = process.cpuUsage();
  for (const { id } of sent) await transport.runs.end('run', id, { ...done }, new Error('cancelled'));
  // Quadratic removal takes about a minute.
  expect(cpuMsSince(before)).toBeLessThan(20_000);
  expect(await transport.counts.metrics('run')).toMatchObject({
    received: 40_000,
    completed: 40_000,
    pending: 0,
    delayed: 0,
  });
  await transport.close({ drainMs: 0 });
});

it('starts with 20,000 types, each with its own limits, and changes them', async () => {
  const transport = memoryTransport();
  const connect = (): TransportManager => transport.connect({ service: 'shop', logger: silentLogger });
  const types = Array.from({ length: 20_000 }, (_, i) => `type-${i}`);
  const [one, two] = [connect(), connect()];
  const onDelivery = (delivery: Delivery): void => void delivery.commit(done);
  await one.start({ concurrency: 100, subscriptions: types.map((type) => ({ type })), onDelivery });
  const limited = types.map((type) => ({ type, concurrency: 1 }));
  await two.start({ concurrency: 100, subscriptions: limited, onDelivery });
  await one.publish(types.map((type) => envelope(type)));
  await two.close({ drainMs: 1_000 });
  await one.close({ drainMs: 10_000 });
  const counts = await one.counts.get(types);
  expect(counts.filter(({ total }) => total.completed === 1)).toHaveLength(types.length);
});

it.each([0, -1, Number.POSITIVE_INFINITY])('refuses maxDeadLetterAgeMs %j', (age) => {
  expect(() => memoryTransport({ maxDeadLetterAgeMs: age })).toThrow(InvalidOptionError);
});
