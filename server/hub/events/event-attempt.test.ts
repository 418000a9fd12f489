import { describe, expect, it } from 'vitest';
import { FatalError, RetryAfterError } from '../../errors.js';
import { deferred, testHub } from '../hub.fixture.js';
import type { HandlerCtx } from './context.js';

describe('handler', () => {
  it('receives a copy of the payload and the context of its attempt', async () => {
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

  it('does not run before emit returns', async () => {
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

  it('emits events with the same requestId and a depth one greater', async () => {
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

describe('retry', () => {
  it('retries with growing delays and counts the event once', async () => {
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

  it('awaits an asynchronous retryIf, and fails the event if it rejects', async () => {
    const { hub, clock, log } = testHub();
    const retry = { maxAttempts: 5, initialDelayMs: 1, jitter: false };
    const handler = () => Promise.reject(new Error('no'));
    hub.event({ type: 'a', retry: { ...retry, retryIf: async (_, attempt) => attempt < 3 }, handler });
    hub.event({ type: 'b', retry: { ...retry, retryIf: () => Promise.reject(new Error('retryIf')) }, handler });
    await hub.start();
    await hub.emit('a', 1);
    await hub.emit('b', 1);
    await clock.advance(100);
    expect(await hub.metrics('a')).toMatchObject({ failed: 1, retried: 2, pending: 0 });
    expect(await hub.metrics('b')).toMatchObject({ failed: 1, retried: 0, pending: 0 });
    const line = log.find(({ message }) => message.startsWith('retryIf threw'));
    expect(line?.fields).toMatchObject({ err: { message: 'retryIf' }, eventType: 'b' });
  });

  it('fails the event after maxAttempts and records the last failure without the payload', async () => {
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
      { id, at: clock.now() - 1, attempt: 2, requestId: id, name: 'TypeError', message: 'no 2' },
    ]);
    expect(log.at(-1)).toMatchObject({ level: 'error', message: 'event failed', fields: { eventId: id, attempt: 2 } });
  });

  it.each([
    ['without retry', undefined, new Error('x')],
    ['on a FatalError', { maxAttempts: 9 }, new FatalError('x')],
    ['if retryIf returns false', { maxAttempts: 9, retryIf: () => false }, new Error('x')],
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

  it('waits for the delay of a RetryAfterError', async () => {
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

  it('accepts a thenable result', async () => {
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
  ])('records %s that was thrown', async (_, thrown, recorded) => {
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

  it('discards the late result or error of a handler that ignores the signal', async () => {
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

  it('returns an aborted signal if the handler first reads it after the timeout', async () => {
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

  it('cancels its timer when the handler returns', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', timeoutMs: 50, handler: () => {} });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(clock.pendingTimers).toBe(0);
  });
});
