import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { FatalError, InvalidOptionError } from '../../errors.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { createHub } from '../create-hub.js';
import { deferred, testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { BatchCtx, BatchEvent } from './batch.js';
import { createEvent } from './event.js';

const row = createEvent({
  type: 'row',
  schema: z.object({ n: z.number(), table: z.string() }),
  key: ({ table }) => table,
});

describe.each(everyTransport)('batches on the %s transport', (_name, createTransport) => {
  function newHub(): Hub {
    const hub = createHub({ transport: createTransport() });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  const until = (condition: () => Promise<void> | void): Promise<void> =>
    vi.waitFor(condition, { interval: 10, timeout: 30_000 });
  const rows = (count: number, table = 't'): { n: number; table: string }[] =>
    Array.from({ length: count }, (_, n) => ({ n, table }));

  it('call the handler with up to max events in their order, and count each', async () => {
    const hub = newHub();
    const batches: (readonly BatchEvent<{ n: number }>[])[] = [];
    hub.event(row, {
      batch: { max: 10, waitMs: 200 },
      concurrency: 1,
      onSuccess: 'stored',
      handler: (events) => void batches.push(events),
    });
    const stored: unknown[] = [];
    hub.event({ type: 'stored', handler: ({ payload }) => void stored.push(payload) });
    await hub.start();
    const receipts = await hub.emitMany(row, rows(25));
    await until(async () => {
      expect(await hub.metrics('row')).toMatchObject({ received: 25, completed: 25, failed: 0, pending: 0, active: 0 });
      expect(stored).toHaveLength(25);
    });
    expect(stored[0]).toBe(null);
    expect(batches.every(({ length }) => length <= 10)).toBe(true);
    expect(batches.length).toBeLessThan(10);
    expect(batches.flat().map(({ payload }) => payload.n)).toEqual(rows(25).map(({ n }) => n));
    expect(batches.flat()[3]).toMatchObject({ id: receipts[3]?.id, key: 't', attempt: 1 });
  });

  it('fail single events, and each of a batch that throws by its own attempts', async () => {
    const hub = newHub();
    const seen = new Map<number, number[]>();
    hub.event(row, {
      batch: { max: 5, waitMs: 50 },
      retry: { maxAttempts: 3, initialDelayMs: 1 },
      handler: async (events, ctx) => {
        for (const { payload, attempt } of events) seen.set(payload.n, [...(seen.get(payload.n) ?? []), attempt]);
        for (const event of events) {
          if (event.payload.n === 1) ctx.fail(event, new FatalError('never'));
          if (event.payload.n === 2 && event.attempt < 3) ctx.fail(event, new Error('not yet'));
        }
        if (events.some(({ payload, attempt }) => payload.n === 4 && attempt === 1)) throw new Error('all of them');
      },
    });
    await hub.start();
    await hub.emitMany(row, rows(6));
    await until(async () => {
      expect(await hub.metrics('row')).toMatchObject({ received: 6, completed: 5, failed: 1, pending: 0, active: 0 });
    });
    expect((await hub.deadLetters(row)).map(({ payload }) => payload.n)).toEqual([1]);
    expect(await hub.failures('row')).toMatchObject([{ message: 'never', attempt: 1 }]);
    expect(seen.get(2)).toEqual([1, 2, 3]);
    expect(seen.get(4)).toEqual([1, 2]);
  });

  it('have events of one key with concurrencyPerKey, of which no two run at once', async () => {
    const hub = newHub();
    const running = new Set<string>();
    const order = new Map<string, number[]>();
    hub.event(row, {
      batch: { max: 4, waitMs: 20 },
      concurrencyPerKey: 1,
      handler: async (events) => {
        const tables = new Set(events.map(({ payload }) => payload.table));
        expect(tables.size).toBe(1);
        const [table = ''] = tables;
        expect(running.has(table)).toBe(false);
        running.add(table);
        await new Promise(setImmediate);
        order.set(table, [...(order.get(table) ?? []), ...events.map(({ payload }) => payload.n)]);
        running.delete(table);
      },
    });
    await hub.start();
    await hub.emitMany(
      row,
      rows(10).flatMap(({ n }) => ['a', 'b'].map((table) => ({ n, table }))),
    );
    await until(async () => {
      expect(await hub.metrics('row')).toMatchObject({ received: 20, completed: 20, failed: 0, pending: 0 });
    });
    for (const table of ['a', 'b']) expect(order.get(table)).toEqual(rows(10).map(({ n }) => n));
  });

  it('take one slot each, and as many starts of a rate as they have events', async () => {
    const hub = newHub();
    let running = 0;
    let most = 0;
    const both = deferred<void>();
    const sizes: number[] = [];
    hub.event(row, {
      batch: { max: 5, waitMs: 10 },
      concurrency: 2,
      rate: { max: 15, perMs: 600_000 },
      handler: async (events) => {
        sizes.push(events.length);
        running += 1;
        most = Math.max(most, running);
        if (running === 2) both.resolve();
        await both.promise;
        running -= 1;
      },
    });
    await hub.start();
    await hub.emitMany(row, rows(20));
    await until(async () => {
      expect(await hub.metrics('row')).toMatchObject({ completed: 15, pending: 5, active: 0 });
    });
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(15);
    expect(most).toBe(2);
  });

  it('lose an event that is cancelled, and go on with the others', async () => {
    const hub = newHub();
    const gate = deferred<void>();
    const signals: AbortSignal[] = [];
    hub.event(row, {
      batch: { max: 3, waitMs: 5_000 },
      handler: async (_events, { signal }) => {
        signals.push(signal);
        await gate.promise;
      },
    });
    await hub.start();
    const receipts = await hub.emitMany(row, rows(3));
    await until(() => expect(signals).toHaveLength(1));
    expect(await hub.cancel(receipts[1]?.id ?? '')).toBe(true);
    expect(signals[0]?.aborted).toBe(false);
    gate.resolve();
    await until(async () => {
      expect(await hub.metrics('row')).toMatchObject({ completed: 2, failed: 1, cancelled: 1, pending: 0, active: 0 });
    });
  });

  it('have every event of a debounce window that keeps all', async () => {
    const hub = newHub();
    const calls: number[][] = [];
    hub.event(row, {
      batch: { max: 10, waitMs: 1 },
      debounceMs: 600,
      debounceKeep: 'all',
      handler: (events) => void calls.push(events.map(({ payload }) => payload.n)),
    });
    await hub.start();
    await hub.emitMany(row, rows(5));
    await hub.emit(row, { n: 5, table: 't' });
    await until(async () => {
      expect(await hub.metrics('row')).toMatchObject({ received: 6, completed: 6, deduplicated: 0, pending: 0 });
    });
    expect(calls.flat().toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(calls.length).toBeLessThan(6);
  });

  it('are released by a stop, and delivered whole after it', async () => {
    const transport = createTransport();
    const start = async (handler: (events: readonly BatchEvent[], ctx: BatchCtx) => unknown): Promise<Hub> => {
      const hub = createHub({ transport });
      onTestFinished(async () => {
        await hub.stop({ drainMs: 0 });
      });
      hub.event(row, { batch: { max: 4, waitMs: 50 }, handler });
      await hub.start();
      return hub;
    };
    const signals: AbortSignal[] = [];
    const first = await start((_events, { signal }) => {
      signals.push(signal);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    await first.emitMany(row, rows(4));
    await until(() => expect(signals.length).toBeGreaterThan(0));
    await first.stop({ drainMs: 0 });
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    const seen: string[] = [];
    const second = await start((events) => void seen.push(...events.map(({ id }) => id)));
    await until(async () => {
      expect(await second.metrics('row')).toMatchObject({ completed: 4, failed: 0, retried: 0, pending: 0 });
    });
    expect(new Set(seen).size).toBe(4);
  });
});

describe('a batch', () => {
  it('has every event of a debounce window that keeps all, up to its maximum, and none that was cancelled', async () => {
    const { hub, clock } = testHub();
    const calls: unknown[] = [];
    hub.event({
      type: 'a',
      key: (n: number) => String(n % 10),
      concurrencyPerKey: 2,
      batch: { max: 10, waitMs: 1 },
      debounceMs: 100,
      debounceMaxMs: 250,
      debounceKeep: 'all',
      handler: (events) => void calls.push(events.map(({ payload }) => payload)),
    });
    await hub.start();
    await hub.emit('a', 1);
    await hub.emit('a', 2);
    const { id } = await hub.emit('a', 11);
    await clock.advance(90);
    await hub.emit('a', 21);
    expect(await hub.cancel(id)).toBe(true);
    await clock.advance(20);
    expect(calls.splice(0)).toEqual([[2]]);
    await clock.advance(90);
    expect(calls.splice(0)).toEqual([[1, 21]]);
    for (let n = 1; n <= 4; n += 1) {
      await hub.emit('a', n * 10 + 5);
      await clock.advance(80);
    }
    expect(calls.splice(0)).toEqual([[15, 25, 35, 45]]);
    expect(await hub.metrics('a')).toMatchObject({ received: 8, completed: 7, cancelled: 1, deduplicated: 0 });
    const { hub: wrong } = testHub();
    const settings = { type: 'b', debounceMs: 5, debounceKeep: 'all', handler: () => {} };
    expect(() => wrong.event(Object(settings))).toThrow('debounceKeep');
  });

  it('starts when it is full, and else waitMs after its first event', async () => {
    const { hub, clock } = testHub();
    const sizes: number[] = [];
    hub.event<number>({
      type: 'a',
      batch: { max: 3, waitMs: 1_000 },
      handler: (events) => void sizes.push(events.length),
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(600);
    await hub.emit('a', 2);
    await clock.advance(399);
    expect(sizes).toEqual([]);
    await clock.advance(1);
    expect(sizes).toEqual([2]);
    await hub.emitMany('a', [1, 2, 3, 4]);
    await clock.settle();
    expect(sizes).toEqual([2, 3]);
    expect(await hub.metrics('a')).toMatchObject({ completed: 5, active: 1, pending: 1 });
    await hub.stop();
    expect(sizes).toEqual([2, 3, 1]);
  });

  it('takes no further event above 4 MiB', async () => {
    const { hub, clock } = testHub();
    const sizes: number[] = [];
    hub.event<string>({
      type: 'a',
      batch: { max: 100, waitMs: 60_000 },
      handler: (events) => void sizes.push(events.length),
    });
    await hub.start();
    for (let n = 0; n < 17; n += 1) await hub.emit('a', 'x'.repeat(500_000));
    await clock.settle();
    expect(sizes).toEqual([8, 8]);
  });

  it('retries its events after the timeout, and keeps its slots until the handler has returned', async () => {
    const { hub, clock } = testHub();
    const gate = deferred<void>();
    const calls: number[] = [];
    hub.event<number>({
      type: 'a',
      batch: { max: 2, waitMs: 1 },
      concurrency: 1,
      timeoutMs: 100,
      retry: { maxAttempts: 2, initialDelayMs: 1, jitter: false },
      handler: async (events) => {
        calls.push(events.length);
        if (calls.length === 1) await gate.promise;
      },
    });
    await hub.start();
    await hub.emitMany('a', [1, 2]);
    await clock.advance(500);
    expect(calls).toEqual([2]);
    expect(await hub.metrics('a')).toMatchObject({ retried: 2, pending: 2 });
    gate.resolve();
    await clock.advance(2_000);
    expect(calls).toEqual([2, 2]);
    expect(await hub.metrics('a')).toMatchObject({ completed: 2, failed: 0, pending: 0 });
  });

  it('emits with the outcome of the event that is the cause', async () => {
    const { hub, clock } = testHub();
    const caused: unknown[] = [];
    hub.event<number>({ type: 'b', handler: ({ payload, requestId }) => void caused.push([payload, requestId]) });
    let late: (() => unknown) | undefined;
    hub.event<number>({
      type: 'a',
      batch: { max: 2, waitMs: 1_000 },
      handler: async (events, ctx) => {
        const [first, second] = events;
        if (first === undefined || second === undefined) throw new Error('too few events');
        for (const event of [first, second]) await ctx.emit(event, 'b', event.payload);
        ctx.fail(second, new Error('no'));
        expect(() => ctx.fail({ ...first }, new Error('no'))).toThrow(InvalidOptionError);
        late = () => ctx.emit(first, 'b', 0);
      },
    });
    await hub.start();
    await hub.emit('a', 1, { requestId: 'r-1' });
    await hub.emit('a', 2, { requestId: 'r-2' });
    await clock.settle();
    expect(caused).toEqual([[1, 'r-1']]);
    await expect(late?.()).rejects.toMatchObject({ code: 'ERR_ATTEMPT_ENDED' });
  });

  it.each<[string, (hub: Hub) => unknown]>([
    ['batch', (hub) => hub.event({ type: 'a', batch: { max: 1, waitMs: 1 } } as never)],
    ['max', (hub) => hub.event({ type: 'a', batch: { max: 1_001, waitMs: 1 }, handler: () => {} })],
    ['max', (hub) => hub.event({ type: 'a', batch: { waitMs: 1 } as never, handler: () => {} })],
    ['waitMs', (hub) => hub.event({ type: 'a', batch: { max: 1, waitMs: 60_001 }, handler: () => {} })],
    ['waitMs', (hub) => hub.event({ type: 'a', batch: { max: 1, waitMs: 0 }, handler: () => {} })],
    [
      'concurrency',
      (hub) => hub.event({ type: 'a', batch: { max: 1, waitMs: 1 }, concurrency: 1_001, handler: () => {} }),
    ],
    [
      'limit',
      (hub) => hub.event({ type: 'a', batch: { max: 1, waitMs: 1 }, limit: (() => {}) as never, handler: () => {} }),
    ],
  ])('is refused with a wrong %s', (option, register) => {
    const { hub } = testHub();
    expect(() => register(hub)).toThrow(InvalidOptionError);
    expect(() => register(hub)).toThrow(option);
  });
});
