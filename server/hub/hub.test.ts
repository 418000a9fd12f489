import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  BackpressureError,
  DuplicateNameError,
  EventCycleError,
  FatalError,
  HubNotStartedError,
  HubStartedError,
  HubStoppedError,
  InvalidOptionError,
  PayloadNotJsonError,
  PayloadTooLargeError,
  RetryAfterError,
  SchemaValidationError,
  UnknownEventError,
} from '../errors.js';
import type { HandlerCtx } from './context.js';
import { createHub } from './create-hub.js';
import { deferred, testHub } from './hub.fixture.js';

describe('a handler', () => {
  it('gets a copy of the payload and the context of its attempt', async () => {
    const { hub, clock } = testHub({ service: 'shop' });
    const seen: HandlerCtx[] = [];
    const created = hub.event<{ items: string[] }>({ type: 'order.created', handler: (ctx) => seen.push(ctx) });
    await hub.start();
    const payload = { items: ['tea'] };
    const { id } = await hub.emit(created, payload, { requestId: 'r-1' });
    payload.items.push('changed later');
    await clock.settle();
    expect(seen).toHaveLength(1);
    const [ctx] = seen;
    expect(ctx).toMatchObject({ requestId: 'r-1', eventType: 'order.created', eventId: id, attempt: 1, depth: 0 });
    expect(ctx?.payload).toEqual({ items: ['tea'] });
    expect(ctx?.idempotencyKey).toBe(`shop:${id}`);
    expect(ctx?.signal.aborted).toBe(false);
  });

  it('does not run before emit has returned', async () => {
    const { hub, clock } = testHub();
    const order: string[] = [];
    hub.event({ type: 'a', handler: () => order.push('handled') });
    await hub.start();
    const emitted = hub.emit('a', 1);
    order.push('returned');
    await emitted;
    await clock.settle();
    expect(order).toEqual(['returned', 'handled']);
  });

  it('emits events that carry on its request, one deeper', async () => {
    const { hub, clock } = testHub();
    const seen: HandlerCtx[] = [];
    hub.event({ type: 'a', handler: (ctx) => ctx.emit('b', null) });
    hub.event({ type: 'b', handler: (ctx) => seen.push(ctx) });
    await hub.start();
    const { id } = await hub.emit('a', null);
    await clock.settle();
    expect(seen).toMatchObject([{ requestId: id, depth: 1 }]);
  });

  it('logs with the fields of its attempt', async () => {
    const { hub, clock, log } = testHub();
    hub.event({ type: 'a', handler: ({ logger }) => logger.info({ sku: 'tea' }, 'packed') });
    await hub.start();
    const { id } = await hub.emit('a', 1);
    await clock.settle();
    expect(log).toEqual([
      {
        level: 'info',
        message: 'packed',
        fields: { sku: 'tea', requestId: id, eventType: 'a', eventId: id, attempt: 1 },
      },
    ]);
  });
});

describe('emit', () => {
  it('resolves with the id of the event, and a different one each time', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    await hub.start();
    const receipts = [await hub.emit('a', 1), await hub.emit('a', 1)];
    expect(receipts).toMatchObject([{ deduplicated: false }, { deduplicated: false }]);
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(2);
  });

  it('rejects an unknown type and names the nearest', async () => {
    const { hub } = testHub();
    hub.event({ type: 'order.created' });
    hub.event({ type: 'order.shipped' });
    await hub.start();
    const error: unknown = await hub.emit('order.craeted', 1).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnknownEventError);
    expect(error).toMatchObject({ code: 'ERR_UNKNOWN_EVENT', nearest: ['order.created'] });
    expect(String(error)).toContain('did you mean "order.created"?');
  });

  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = { parent: cyclic };
  it.each([
    ['undefined', undefined, 'payload is undefined'],
    ['a function', { run: () => 1 }, 'payload.run is a function'],
    ['a symbol', [Symbol('x')], 'payload[0] is a symbol'],
    ['a bigint', { total: 10n }, 'payload.total is the bigint 10n'],
    ['NaN', { 'a b': [1, Number.NaN] }, 'payload["a b"][1] is NaN'],
    ['Infinity', Number.POSITIVE_INFINITY, 'payload is Infinity'],
    ['a cycle', cyclic, 'payload.self.parent is a reference to an object around it'],
    ['a hole in an array', new Array(2), 'payload[0] is undefined'],
    ['a Map', { seen: new Map([[1, 2]]) }, 'payload.seen is of class Map'],
    ['an invalid Date', { at: new Date('never') }, 'payload.at is an invalid Date'],
  ])('rejects %s, says where, and counts nothing', async (_, payload, message) => {
    const { hub } = testHub();
    hub.event({ type: 'a', handler: () => {} });
    await hub.start();
    const error: unknown = await hub.emit('a', payload).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PayloadNotJsonError);
    expect(String(error)).toContain(message);
    expect(await hub.metrics('a')).toMatchObject({ received: 0, failed: 0 });
  });

  it('rejects a payload over maxPayloadBytes, measured in bytes of UTF-8', async () => {
    const { hub } = testHub({ maxPayloadBytes: 12 });
    hub.event({ type: 'a' });
    await hub.start();
    await hub.emit('a', 'x'.repeat(10));
    await expect(hub.emit('a', 'é'.repeat(6))).rejects.toThrow(PayloadTooLargeError);
    await expect(hub.emit('a', 'x'.repeat(11))).rejects.toMatchObject({ bytes: 13, maxPayloadBytes: 12 });
    expect(await hub.metrics('a')).toMatchObject({ received: 1 });
  });

  it('rejects before start and after stop', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    await expect(hub.emit('a', 1)).rejects.toThrow(HubNotStartedError);
    await hub.start();
    await hub.stop();
    await expect(hub.emit('a', 1)).rejects.toThrow(HubStoppedError);
    expect(await hub.metrics('a')).toMatchObject({ received: 0 });
  });

  it('rejects with BackpressureError past maxPending, and takes events again once some have ended', async () => {
    const { hub, clock } = testHub({ maxPending: 2 });
    const gate = deferred();
    hub.event({ type: 'a', handler: () => gate.promise });
    await hub.start();
    await hub.emit('a', 1);
    await hub.emit('a', 1);
    await expect(hub.emit('a', 1)).rejects.toThrow(BackpressureError);
    expect(await hub.metrics('a')).toMatchObject({ received: 2 });
    gate.resolve();
    await clock.settle();
    await hub.emit('a', 1);
    await clock.settle();
    expect(await hub.metrics('a')).toMatchObject({ received: 3, completed: 3 });
  });

  it.each([
    [{ delayMs: -1 }, 'delayMs'],
    [{ delayMs: Number.NaN }, 'delayMs'],
    [{ priority: 1.5 }, 'priority'],
    [{ priority: 101 }, 'priority'],
    [{ dedupeId: '' }, 'dedupeId'],
    [{ requestId: 7 as never }, 'requestId'],
    [7 as never, 'options'],
  ])('rejects the options %j', async (options, named) => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    await hub.start();
    const error: unknown = await hub.emit('a', 1, options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(String(error)).toContain(`${named} of emit`);
  });

  it('delays, and drops a second event of one dedupeId for the window of the type', async () => {
    const { hub, clock } = testHub();
    const payloads: unknown[] = [];
    hub.event({ type: 'a', dedupeWindowMs: 1_000, handler: ({ payload }) => payloads.push(payload) });
    await hub.start();
    const first = await hub.emit('a', 'first', { dedupeId: 'x', delayMs: 100 });
    const second = await hub.emit('a', 'second', { dedupeId: 'x' });
    expect(second).toEqual({ id: first.id, deduplicated: true });
    await clock.advance(99);
    expect(payloads).toEqual([]);
    await clock.advance(1);
    expect(payloads).toEqual(['first']);
    await clock.advance(900);
    await hub.emit('a', 'third', { dedupeId: 'x' });
    await clock.settle();
    expect(payloads).toEqual(['first', 'third']);
    expect(await hub.metrics('a')).toMatchObject({ received: 2, completed: 2, deduplicated: 1 });
  });
});

describe('retry', () => {
  it('tries again with growing delays and counts the event once', async () => {
    const { hub, clock, log } = testHub();
    const attempts: number[] = [];
    hub.event({
      type: 'a',
      retry: { maxAttempts: 3, initialDelayMs: 100, factor: 3, jitter: false },
      handler: ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 3) throw new Error('flaky');
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(99);
    expect(attempts).toEqual([1]);
    await clock.advance(1);
    expect(attempts).toEqual([1, 2]);
    expect(await hub.metrics('a')).toMatchObject({ received: 1, pending: 1, retried: 2 });
    await clock.advance(300);
    expect(attempts).toEqual([1, 2, 3]);
    expect(await hub.metrics('a')).toMatchObject({ received: 1, completed: 1, failed: 0, pending: 0, retried: 2 });
    expect(log.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'warn attempt failed',
      'warn attempt failed',
    ]);
  });

  it('gives up after maxAttempts, and records the last failure without the payload', async () => {
    const { hub, clock, log } = testHub();
    hub.event({
      type: 'a',
      retry: { maxAttempts: 2, initialDelayMs: 0 },
      handler: ({ attempt }) => Promise.reject(new TypeError(`no ${attempt}`)),
    });
    await hub.start();
    const { id } = await hub.emit('a', { secret: 'x' });
    await clock.advance(1);
    expect(await hub.metrics('a')).toMatchObject({ received: 1, completed: 0, failed: 1, pending: 0, retried: 1 });
    expect(await hub.failures('a')).toEqual([
      { id, at: clock.now() - 1, attempt: 2, name: 'TypeError', message: 'no 2' },
    ]);
    expect(log.at(-1)).toMatchObject({ level: 'error', message: 'event failed', fields: { eventId: id, attempt: 2 } });
  });

  it.each([
    ['without retry', undefined, new Error('x')],
    ['on a FatalError', { maxAttempts: 9 }, new FatalError('x')],
    ['where retryIf says no', { maxAttempts: 9, retryIf: () => false }, new Error('x')],
    [
      'where retryIf throws',
      {
        maxAttempts: 9,
        retryIf: () => {
          throw new Error('bug');
        },
      },
      new Error('x'),
    ],
  ])('makes one attempt %s', async (_, retry, error) => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', ...(retry && { retry }), handler: () => Promise.reject(error) });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(100_000);
    expect(await hub.metrics('a')).toMatchObject({ received: 1, failed: 1, retried: 0, pending: 0 });
  });

  it('waits as long as a RetryAfterError says', async () => {
    const { hub, clock } = testHub();
    const startedAt: number[] = [];
    hub.event({
      type: 'a',
      retry: {},
      handler: ({ attempt }) => {
        startedAt.push(clock.monotonic());
        if (attempt === 1) throw new RetryAfterError(12_345);
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(20_000);
    expect(startedAt).toEqual([0, 12_345]);
  });

  it('copes with a result that is only like a promise', async () => {
    const { hub, clock } = testHub();
    const twice = {
      then: (resolve: (value: string) => void, reject: (error: Error) => void) => [
        resolve('x'),
        reject(new Error('y')),
      ],
    };
    const hostile = {
      get then(): never {
        throw new Error('gotcha');
      },
    };
    hub.event<number>({ type: 'a', handler: ({ payload }) => (payload === 1 ? twice : hostile) });
    await hub.start();
    await hub.emit('a', 1);
    await hub.emit('a', 2);
    await clock.settle();
    expect(await hub.metrics('a')).toMatchObject({ completed: 1, failed: 1, active: 0 });
    expect(await hub.failures('a')).toMatchObject([{ message: 'gotcha' }]);
  });

  it.each([
    ['a string', 'oops', { name: 'NonError', message: '"oops"' }],
    ['null', null, { name: 'NonError', message: 'null' }],
    ['an object', { secret: 1 }, { name: 'NonError', message: 'an object' }],
  ])('copes with %s being thrown', async (_, thrown, recorded) => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', handler: () => Promise.reject(thrown) });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(await hub.failures('a')).toMatchObject([recorded]);
  });
});

describe('timeoutMs', () => {
  it('aborts the signal and counts as a failed attempt', async () => {
    const { hub, clock } = testHub();
    const reasons: unknown[] = [];
    hub.event({
      type: 'a',
      timeoutMs: 50,
      retry: { maxAttempts: 2, initialDelayMs: 0, jitter: false },
      handler: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(50);
    expect(reasons).toMatchObject([{ code: 'ERR_HANDLER_TIMEOUT' }]);
    expect(await hub.metrics('a')).toMatchObject({ retried: 1, pending: 1 });
    await clock.advance(50);
    expect(await hub.metrics('a')).toMatchObject({ received: 1, failed: 1, pending: 0, active: 0 });
    expect(await hub.failures('a')).toMatchObject([{ name: 'HandlerTimeoutError' }]);
  });

  it('drops what a handler that ignores the signal returns or throws too late', async () => {
    const { hub, clock, log } = testHub();
    const gate = deferred<string>();
    hub.event({
      type: 'a',
      timeoutMs: 50,
      onSuccess: 'b',
      handler: ({ payload }) =>
        gate.promise.then((result) => (payload === 1 ? result : Promise.reject(new Error('late')))),
    });
    hub.event({ type: 'b' });
    await hub.start();
    await hub.emit('a', 1);
    await hub.emit('a', 2);
    await clock.advance(50);
    gate.resolve('late');
    await clock.settle();
    expect(log.map(({ message }) => message)).toEqual(['event failed', 'event failed']);
    expect(await hub.metrics('a')).toMatchObject({ completed: 0, failed: 2 });
    expect(await hub.metrics('b')).toMatchObject({ received: 0 });
  });

  it('gives a signal asked for too late already aborted', async () => {
    const { hub, clock } = testHub();
    const gate = deferred();
    let late: AbortSignal | undefined;
    hub.event({
      type: 'a',
      timeoutMs: 50,
      handler: async (ctx) => {
        await gate.promise;
        late = ctx.signal;
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(50);
    gate.resolve();
    await clock.settle();
    expect(late?.aborted).toBe(true);
    expect(late?.reason).toMatchObject({ code: 'ERR_HANDLER_TIMEOUT' });
  });

  it('leaves no timer behind a handler that is done', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', timeoutMs: 50, handler: () => {} });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('schema', () => {
  it('rejects at emit, says what is wrong, and counts nothing', async () => {
    const { hub } = testHub();
    const order = z.object({ items: z.array(z.object({ price: z.number() })) });
    const created = hub.event({ type: 'a', schema: order, handler: () => {} });
    await hub.start();
    const error: unknown = await hub
      .emit(created, { items: [{ price: 'x' as never }] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SchemaValidationError);
    expect(error).toMatchObject({ issues: [{ path: 'payload.items[0].price' }] });
    expect(await hub.metrics('a')).toMatchObject({ received: 0, failed: 0 });
  });

  it('gives the handler what the schema makes of the payload', async () => {
    const { hub, clock } = testHub();
    const seen: { at: Date; currency: string }[] = [];
    const created = hub.event({
      type: 'a',
      schema: z.object({ at: z.coerce.date<string>(), currency: z.string().default('EUR') }),
      handler: ({ payload }) => seen.push(payload),
    });
    await hub.start();
    await hub.emit(created, { at: '2026-01-01' });
    await clock.settle();
    expect(seen).toEqual([{ at: new Date('2026-01-01'), currency: 'EUR' }]);
  });

  it('awaits one that validates asynchronously', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', schema: z.string().refine(async (text) => text !== 'bad'), handler: () => {} });
    await hub.start();
    await hub.emit('a', 'good');
    await expect(hub.emit('a', 'bad')).rejects.toThrow(SchemaValidationError);
    await clock.settle();
    expect(await hub.metrics('a')).toMatchObject({ received: 1, completed: 1 });
  });

  it('checks again at receipt: a terminal failure without retry, its handler not run', async () => {
    const { hub, clock } = testHub();
    let ran = 0;
    hub.event({ type: 'a', onSuccess: 'b', handler: () => ({ total: 'many' }) });
    hub.event({
      type: 'b',
      schema: { type: 'object', properties: { total: { type: 'number' } } },
      retry: {},
      handler: () => {
        ran += 1;
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(60_000);
    expect(ran).toBe(0);
    expect(await hub.metrics('b')).toMatchObject({ received: 1, failed: 1, retried: 0 });
    expect(await hub.failures('b')).toMatchObject([
      {
        name: 'SchemaValidationError',
        message: 'payload of "b" does not fit its schema: payload.total must be number',
      },
    ]);
  });

  it('of JSON Schema is compiled at definition, so that a wrong one throws there', () => {
    const { hub } = testHub();
    expect(() => hub.event({ type: 'a', schema: { type: 'objekt' } })).toThrow('schema of event "a" is not valid');
  });
});

describe('follow-ups', () => {
  it('carry the result, the error and the payload', async () => {
    const { hub, clock } = testHub();
    const seen: [string, unknown][] = [];
    const record = ({ eventType, payload }: HandlerCtx): void => {
      seen.push([eventType, payload]);
    };
    const names = { onSuccess: 'ok', onFailure: 'bad', onComplete: 'done' };
    hub.event<{ fail: boolean }>({
      type: 'a',
      ...names,
      handler: ({ payload }) => {
        if (payload.fail) throw new FatalError('declined');
        return { paid: true };
      },
    });
    for (const type of Object.values(names)) hub.event({ type, handler: record });
    await hub.start();
    await hub.emit('a', { fail: false });
    await clock.settle();
    await hub.emit('a', { fail: true });
    await clock.settle();
    const error = { name: 'FatalError', message: 'declined', code: 'ERR_FATAL' };
    expect(seen).toEqual([
      ['ok', { paid: true }],
      ['done', { status: 'completed', result: { paid: true }, payload: { fail: false } }],
      ['bad', { error, payload: { fail: true } }],
      ['done', { status: 'failed', error, payload: { fail: true } }],
    ]);
  });

  it('have ids that derive from their cause, and its request', async () => {
    const { hub, clock } = testHub();
    const seen: HandlerCtx[] = [];
    hub.event({ type: 'a', onSuccess: 'b', handler: () => {} });
    hub.event({ type: 'b', handler: (ctx) => seen.push(ctx) });
    await hub.start();
    const { id } = await hub.emit('a', 1, { requestId: 'r-1' });
    await clock.settle();
    expect(seen).toMatchObject([{ eventId: `${id}.success`, requestId: 'r-1', depth: 1, payload: null }]);
  });

  it('fail the event where its result is not JSON, without running it again', async () => {
    const { hub, clock } = testHub();
    let ran = 0;
    hub.event({
      type: 'a',
      retry: {},
      onSuccess: 'b',
      handler: () => {
        ran += 1;
        return { total: 10n };
      },
    });
    hub.event({ type: 'b' });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(60_000);
    expect(ran).toBe(1);
    expect(await hub.failures('a')).toMatchObject([
      { message: expect.stringContaining('result.total is the bigint 10n') },
    ]);
  });

  it('do not care what is returned where nobody is told', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', handler: () => 10n });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(await hub.metrics('a')).toMatchObject({ completed: 1 });
  });

  it('that form a cycle throw at start, naming it', async () => {
    const { hub } = testHub();
    const handler = (): void => {};
    hub.event({ type: 'x', handler, onSuccess: 'a' });
    hub.event({ type: 'a', handler, onSuccess: 'b' });
    hub.event({ type: 'b', handler, onComplete: 'c' });
    hub.event({ type: 'c', handler, onFailure: 'a' });
    const error: unknown = await hub.start().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EventCycleError);
    expect(String(error)).toContain('"a" -> "b" -> "c" -> "a"');
    await expect(hub.emit('a', 1)).rejects.toThrow(HubNotStartedError);
  });

  it('may form a cycle with allowCycles, which ends at depth 64 as a dead letter', async () => {
    const { hub, clock } = testHub({ allowCycles: true });
    let ran = 0;
    hub.event({
      type: 'a',
      onSuccess: 'a',
      onFailure: 'a',
      handler: () => {
        ran += 1;
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(ran).toBe(65);
    expect(await hub.metrics('a')).toMatchObject({ received: 66, completed: 65, failed: 1, pending: 0 });
    expect(await hub.failures('a')).toMatchObject([{ name: 'DepthLimitError' }]);
  });

  it('must be registered by start', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a', handler: () => {}, onSuccess: 'order.payed' });
    hub.event({ type: 'order.paid' });
    await expect(hub.start()).rejects.toThrow(
      'event type "order.payed", named by onSuccess of "a", is not registered: did you mean "order.paid"?',
    );
    hub.event({ type: 'order.payed' });
    await hub.start();
  });
});

describe('stop', () => {
  it('waits for what runs and what waits, then nothing is pending', async () => {
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
    await expect(hub.emit('a', 1)).rejects.toThrow(HubStoppedError);
    await clock.advance(300);
    expect(await stopped).toEqual({ handedBack: 0 });
    expect(await hub.metrics('a')).toMatchObject({ received: 3, completed: 3, pending: 0 });
    expect(await hub.metrics('b')).toMatchObject({ received: 3, completed: 3, pending: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('aborts with reason shutdown at drainMs and hands back without an attempt, to the next hub', async () => {
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
    expect(await stopped).toEqual({ handedBack: 1 });
    expect(reasons).toMatchObject([{ code: 'ERR_SHUTDOWN', message: expect.stringMatching(/^shutdown/) }]);
    expect(await hub.metrics('a')).toMatchObject({ received: 1, pending: 1, active: 0, retried: 0, failed: 0 });

    const again = testHub({ transport });
    again.hub.event({ type: 'a', handler: ({ attempt }) => attempts.push(attempt) });
    await again.hub.start();
    await clock.settle();
    expect(attempts).toEqual([1, 1]);
    expect(await again.hub.metrics('a')).toMatchObject({ received: 1, completed: 1, pending: 0 });
  });

  it('lets handlers that still run emit, until it is done', async () => {
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
      type: 'deaf',
      handler: async ({ emit }) => {
        await late.promise;
        lateEmit = emit('b', 2);
        await lateEmit;
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await hub.emit('deaf', 1);
    await clock.settle();
    const stopped = hub.stop({ drainMs: 100 });
    gate.resolve();
    await clock.advance(100);
    expect(await stopped).toEqual({ handedBack: 1 });
    expect(await hub.metrics('b')).toMatchObject({ received: 1, completed: 1 });
    late.resolve();
    await clock.settle();
    await expect(lateEmit).rejects.toThrow(HubStoppedError);
  });

  it('resolves before start and twice, with one result', async () => {
    const { hub } = testHub();
    const first = hub.stop();
    expect(hub.stop()).toBe(first);
    expect(await first).toEqual({ handedBack: 0 });
    await expect(hub.start()).rejects.toThrow(HubStoppedError);
  });

  it('refuses a drainMs that is none', async () => {
    const { hub } = testHub();
    await expect(hub.stop({ drainMs: -1 })).rejects.toThrow(InvalidOptionError);
  });
});

describe('definition', () => {
  it.each([
    [{ type: '' }, 'type must be a string of 1 to 512 characters'],
    [{ type: 'x'.repeat(513) }, 'type must be'],
    [{ type: 'a\nb' }, 'type must be'],
    [{ type: '\ud800' }, 'type must be'],
    [{ type: 7 }, 'type must be'],
    [{ type: 'a', handler: 'x' }, 'handler of event "a" must be a function, got "x"'],
    [{ type: 'a', handler() {}, timeoutMs: 0 }, 'timeoutMs of event "a"'],
    [{ type: 'a', handler() {}, timeoutMs: 2 ** 31 }, 'timeoutMs of event "a"'],
    [{ type: 'a', handler() {}, concurrency: 0 }, 'concurrency of event "a"'],
    [{ type: 'a', handler() {}, rate: { max: 0, perMs: 1 } }, 'rate.max of event "a"'],
    [{ type: 'a', handler() {}, rate: { max: 1, perMs: 0 } }, 'rate.perMs of event "a"'],
    [{ type: 'a', handler() {}, rate: 5 }, 'rate of event "a"'],
    [{ type: 'a', handler() {}, retry: { maxAttempts: 0 } }, 'retry.maxAttempts of event "a"'],
    [{ type: 'a', handler() {}, retry: { factor: 0.5 } }, 'retry.factor of event "a"'],
    [{ type: 'a', handler() {}, retry: 3 }, 'retry of event "a"'],
    [{ type: 'a', handler() {}, onSuccess: '' }, 'onSuccess of event "a"'],
    [{ type: 'a', onSuccess: 'b' }, 'onSuccess of event "a" must be left out where there is no handler'],
    [{ type: 'a', timeoutMs: 5 }, 'timeoutMs of event "a" must be left out where there is no handler'],
    [{ type: 'a', description: 5 }, 'description of event "a"'],
    [{ type: 'a', schema: 'x' }, 'schema of event "a"'],
    [{ type: 'a', dedupeWindowMs: 0 }, 'dedupeWindowMs of event "a"'],
    [undefined, 'hub.event must be an object'],
  ])('of the event %j throws at once', (config, message) => {
    const { hub } = testHub();
    expect(() => hub.event(config as never)).toThrow(InvalidOptionError);
    expect(() => hub.event(config as never)).toThrow(message);
  });

  it('takes each type once, and none after start', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    expect(() => hub.event({ type: 'a' })).toThrow(DuplicateNameError);
    await hub.start();
    expect(() => hub.event({ type: 'b' })).toThrow(HubStartedError);
    await expect(hub.start()).rejects.toThrow(HubStartedError);
  });

  it.each([
    [{ service: '' }, 'service'],
    [{ transport: {} }, 'transport'],
    [{ logger: { info() {} } }, 'logger'],
    [{ concurrency: 0 }, 'concurrency'],
    [{ maxPayloadBytes: 'x' }, 'maxPayloadBytes'],
    [{ allowCycles: 1 }, 'allowCycles'],
  ])('of a hub with %j throws at once', (options, named) => {
    expect(() => createHub(options as never)).toThrow(InvalidOptionError);
    expect(() => createHub(options as never)).toThrow(named);
  });
});

describe('introspection', () => {
  it('shows what is registered with its counts, and neither handlers nor payloads', async () => {
    const { hub, clock } = testHub({ service: 'shop' });
    hub.event({
      type: 'order.created',
      description: 'An order came in',
      schema: z.object({ id: z.string() }),
      retry: { maxAttempts: 2, retryIf: () => true },
      timeoutMs: 1_000,
      concurrency: 4,
      rate: { max: 10, perMs: 1_000 },
      onSuccess: 'order.noted',
      handler: () => {},
    });
    hub.event({ type: 'order.noted' });
    expect((await hub.introspect()).hub.startedAt).toBeNull();
    await hub.start();
    await hub.emit('order.created', { id: 'o-1' });
    await clock.settle();
    expect(await hub.introspect()).toEqual({
      hub: {
        service: 'shop',
        transport: 'memory',
        version: expect.any(String),
        startedAt: clock.now(),
        now: clock.now(),
      },
      events: [
        {
          type: 'order.created',
          kind: 'handler',
          description: 'An order came in',
          retry: { maxAttempts: 2, initialDelayMs: 500, maxDelayMs: 30_000, factor: 2, jitter: true },
          timeoutMs: 1_000,
          concurrency: 4,
          rate: { max: 10, perMs: 1_000 },
          onSuccess: 'order.noted',
          schema: expect.objectContaining({ type: 'object', required: ['id'] }),
          metrics: {
            received: 1,
            completed: 1,
            failed: 0,
            pending: 0,
            active: 0,
            retried: 0,
            lastReceivedAt: clock.now(),
          },
        },
        {
          type: 'order.noted',
          kind: 'declared',
          metrics: expect.objectContaining({ received: 1, completed: 1 }),
        },
      ],
      workflows: [],
      agents: [],
    });
  });

  it('shows the counts of each service where there are several', async () => {
    const { hub, clock, transport } = testHub({ service: 'shop' });
    const mail = testHub({ service: 'mail', transport });
    hub.event({ type: 'a', handler: () => {} });
    mail.hub.event({ type: 'a', handler: () => Promise.reject(new Error('no')) });
    await hub.start();
    await mail.hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    const [event] = (await hub.introspect()).events;
    expect(event?.metrics).toMatchObject({ received: 2, completed: 1, failed: 1, pending: 0 });
    expect(event?.services).toMatchObject([
      { service: 'shop', metrics: { completed: 1 } },
      { service: 'mail', metrics: { failed: 1 } },
    ]);
  });

  it('has a revision that tells hubs apart and moves with the counts', async () => {
    const { hub, clock, transport } = testHub();
    const other = testHub({ transport, service: 'other' });
    hub.event({ type: 'a' });
    await hub.start();
    const before = await hub.revision();
    expect(await hub.revision()).toBe(before);
    expect(await other.hub.revision()).not.toBe(before);
    await hub.emit('a', 1);
    expect(await hub.revision()).not.toBe(before);
    const ofType = await hub.revision('a');
    await clock.advance(60_000);
    expect(await hub.revision('a')).not.toBe(ofType);
    await expect(hub.revision('b')).rejects.toThrow(UnknownEventError);
    await expect(hub.metrics('b')).rejects.toThrow(UnknownEventError);
    await expect(hub.failures('b')).rejects.toThrow(UnknownEventError);
  });
});

it('checks payloads of a reference at compile time', async () => {
  const { hub } = testHub();
  const typed = hub.event<{ total: number }>({ type: 'typed' });
  const inferred = hub.event({ type: 'inferred', schema: z.object({ total: z.number() }) });
  await hub.start();
  await hub.emit(typed, { total: 1 });
  // @ts-expect-error total is a number
  await hub.emit(typed, { total: 'one' });
  // @ts-expect-error total is missing
  await expect(hub.emit(inferred, {})).rejects.toThrow(SchemaValidationError);
});
