import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { BackpressureError } from '../../transports/errors.js';
import {
  HubNotStartedError,
  HubStoppedError,
  PayloadNotJsonError,
  PayloadTooLargeError,
  UnknownEventError,
} from '../errors.js';
import { deferred, testHub } from '../hub.fixture.js';

describe('emit', () => {
  it('resolves with a unique id per event', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    await hub.start();
    const receipts = [await hub.emit('a', 1), await hub.emit('a', 1)];
    expect(receipts).toMatchObject([{ deduplicated: false }, { deduplicated: false }]);
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(2);
  });

  it('rejects an unknown type and suggests the nearest', async () => {
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
    ['a cycle', cyclic, 'payload.self.parent is a circular reference'],
    ['a hole in an array', new Array(2), 'payload[0] is undefined'],
    ['a Map', { seen: new Map([[1, 2]]) }, 'payload.seen is of class Map'],
    ['an invalid Date', { at: new Date('never') }, 'payload.at is an invalid Date'],
  ])('rejects %s with its path, and counts nothing', async (_, payload, message) => {
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

  it('rejects with BackpressureError above maxPending, and accepts events again when some have ended', async () => {
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
    [{ delayMs: Number.MAX_VALUE }, 'delayMs'],
    [{ dedupeId: '' }, 'dedupeId'],
    [{ dedupeId: 'a\n' }, 'dedupeId'],
    [{ requestId: 7 as never }, 'requestId'],
    [7 as never, 'options'],
    [{ delay: 5 } as never, 'option'],
  ])('rejects the options %j', async (options, named) => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    await hub.start();
    const error: unknown = await hub.emit('a', 1, options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(String(error)).toContain(`${named} of emit`);
  });

  it('delays an event, and deduplicates by dedupeId within the window of the type', async () => {
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
