import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { InvalidOptionError } from '../errors.js';
import { newStoreFile } from '../testing/stores.fixture.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import { silentLogger, type Transport } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import { AttemptEndedError, HubStoppedError } from './errors.js';
import { deferred, testHub } from './hub.fixture.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';

describe('stop', () => {
  it('waits until all accepted events have ended', async () => {
    const { hub, clock } = testHub({ concurrency: 1 });
    hub.event({
      type: 'a',
      onSuccess: 'b',
      handler: () => new Promise<void>((resolve) => clock.after(100, resolve)),
    });
    hub.event({ type: 'b', handler: () => {} });
    await hub.start();
    for (let i = 0; i < 3; i += 1) await hub.emit('a', i);
    const stopped = hub.stop();
    await clock.advance(300);
    await expect(hub.emit('a', 1)).rejects.toThrow(HubStoppedError);
    expect(await stopped).toEqual({ released: 0, overdue: 0 });
    expect(await hub.metrics('a')).toMatchObject({ received: 3, completed: 3, pending: 0 });
    expect(await hub.metrics('b')).toMatchObject({ received: 3, completed: 3, pending: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('aborts with reason shutdown at drainMs and releases the event to the next hub without spending an attempt', async () => {
    const { hub, clock, transport } = testHub();
    const reasons: unknown[] = [];
    const attempts: number[] = [];
    hub.event({
      type: 'a',
      retry: {},
      handler: ({ signal, attempt }) =>
        new Promise((_, reject) => {
          attempts.push(attempt);
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    await hub.start();
    await hub.emit('a', 'work');
    await clock.settle();
    const stopped = hub.stop({ drainMs: 1_000 });
    await clock.advance(1_000);
    expect(await stopped).toEqual({ released: 1, overdue: 0 });
    expect(reasons).toMatchObject([{ code: 'ERR_SHUTDOWN', message: expect.stringMatching(/^shutdown/) }]);
    expect(await hub.metrics('a')).toMatchObject({ received: 1, pending: 1, active: 0, retried: 0, failed: 0 });

    const again = testHub({ transport });
    again.hub.event({ type: 'a', handler: ({ attempt }) => attempts.push(attempt) });
    await again.hub.start();
    await clock.settle();
    expect(attempts).toEqual([1, 1]);
    expect(await again.hub.metrics('a')).toMatchObject({ received: 1, completed: 1, pending: 0 });
  });

  it('lets running handlers emit until the hub has stopped', async () => {
    const { hub, clock } = testHub();
    const gate = deferred();
    const late = deferred();
    let lateEmit: Promise<unknown> | undefined;
    hub.event({
      type: 'a',
      handler: async ({ emit }) => {
        await gate.promise;
        await emit('b', 1);
      },
    });
    hub.event({ type: 'b', handler: () => {} });
    hub.event({
      type: 'stubborn',
      handler: async ({ emit }) => {
        await late.promise;
        lateEmit = emit('b', 2);
        await lateEmit;
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await hub.emit('stubborn', 1);
    await clock.settle();
    const stopped = hub.stop({ drainMs: 100 });
    gate.resolve();
    await clock.advance(100);
    expect(await stopped).toEqual({ released: 1, overdue: 0 });
    expect(await hub.metrics('b')).toMatchObject({ received: 1, completed: 1 });
    late.resolve();
    await clock.settle();
    await expect(lateEmit).rejects.toThrow(AttemptEndedError);
  });

  it('resolves before start, and returns the same result twice', async () => {
    const { hub } = testHub();
    const first = hub.stop();
    expect(await hub.stop()).toBe(await first);
    expect(await first).toEqual({ released: 0, overdue: 0 });
    await expect(hub.start()).rejects.toThrow(HubStoppedError);
  });

  it('rejects invalid options without stopping', async () => {
    const { hub } = testHub();
    await expect(hub.stop({ drainMs: -1 })).rejects.toThrow(InvalidOptionError);
    // The compiler would reject it.
    await expect(hub.stop({ drainMS: 5 } as object)).rejects.toThrow(InvalidOptionError);
    expect(await hub.stop()).toEqual({ released: 0, overdue: 0 });
  });
});

it('accepts no event after stop, even if its schema was still validating', async () => {
  const { hub } = testHub();
  const gate = deferred();
  hub.event({ type: 'a', schema: z.string().refine(() => gate.promise.then(() => true)), handler: () => {} });
  await hub.start();
  const emitted = hub.emit('a', 'x');
  await hub.stop();
  gate.resolve();
  await expect(emitted).rejects.toThrow(HubStoppedError);
  expect(await hub.metrics('a')).toMatchObject({ received: 0 });
});

it('keeps running with a logger that throws', async () => {
  const warnings: string[] = [];
  const listen = (warning: Error): unknown => warnings.push(warning.message);
  process.on('warning', listen);
  onTestFinished(() => {
    process.off('warning', listen);
  });
  const fail = (): never => {
    throw new Error('disk full');
  };
  const { hub, clock } = testHub({ logger: { debug: fail, info: fail, warn: fail, error: fail, child: fail } });
  hub.event({ type: 'a', handler: ({ logger }) => Promise.reject(new Error(String(logger.info({}, 'x')))) });
  hub.event({ type: 'b', handler: fail });
  await hub.start();
  for (const type of ['a', 'b', 'a', 'b']) await hub.emit(type, 1);
  await clock.settle();
  expect(await hub.metrics('a')).toMatchObject({ failed: 2, pending: 0 });
  expect(await hub.metrics('b')).toMatchObject({ failed: 2, pending: 0 });
  expect(warnings).toContain('the hub\'s logger threw at "event failed": Error: disk full');
});

it.each([
  ['options of createHub must be an object, got null', null],
  ['option of createHub must be one of service, ', { services: 'shop' }],
])('throws: %s', (message, options) => {
  // The compiler would reject it.
  expect(() => createHub(options as object)).toThrow(message);
});

const memory = (): Transport => memoryTransport();
const fullMemory = (): Transport => memoryTransport({ maxPending: 1 });
const fullFile = (): Transport => sqliteTransport({ file: newStoreFile(), maxPending: 1 });

it.each<[string, () => Transport, (hub: Hub) => (n: number) => Promise<unknown>]>([
  ['emit', memory, (hub) => (n) => hub.emit('a', n)],
  ['emitMany', memory, (hub) => (n) => hub.emitMany('a', [n, n])],
  ['startWorkflow', memory, (hub) => (n) => hub.startWorkflow('w', n)],
  ['emit that memory refuses', fullMemory, (hub) => (n) => hub.emit('kept', n).catch(() => {})],
  ['emit that a file refuses', fullFile, (hub) => (n) => hub.emit('kept', n).catch(() => {})],
])('%s in a loop of awaited calls lets timers fire', async (_, createTransport, callOf) => {
  const hub = createHub({ logger: silentLogger, transport: createTransport() });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  hub.event({ type: 'a', handler: () => {} });
  hub.event({ type: 'kept', handler: ({ signal }) => new Promise((_resolve, reject) => (signal.onabort = reject)) });
  hub.workflow(createWorkflow({ name: 'w', run: async () => 1 }));
  await hub.start();
  const call = callOf(hub);
  let hasFired = false;
  setTimeout(() => {
    hasFired = true;
  }, 10);
  const until = performance.now() + 30_000;
  for (let n = 0; !hasFired && performance.now() < until; n += 1) await call(n);
  expect(hasFired).toBe(true);
});

it.each([
  ['the next turn', {}],
  ['their tags', { tags: () => ['customer:ada'] }],
])('stop waits for emits that wait for %s, and for their events', async (_, settings) => {
  const hub = createHub({ logger: silentLogger });
  let handled = 0;
  hub.event({
    type: 'a',
    ...settings,
    handler: () => {
      handled += 1;
    },
  });
  await hub.start();
  const emits = Array.from({ length: 1_000 }, (_, n) => hub.emit('a', n));
  expect(await hub.stop()).toEqual({ released: 0, overdue: 0 });
  expect(handled).toBe(1_000);
  expect(await Promise.all(emits)).toHaveLength(1_000);
});
