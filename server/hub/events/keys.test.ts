import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, testHub } from '../hub.fixture.js';

interface Change {
  customerId: string;
  version: number;
}

describe('key', () => {
  it('orders the events of a customer, over retries, while other customers continue', async () => {
    const { hub, clock } = testHub();
    const handled: string[] = [];
    const changed = hub.event<Change>({
      type: 'order.changed',
      key: ({ customerId }) => customerId,
      concurrencyPerKey: 1,
      retry: { maxAttempts: 2, initialDelayMs: 1_000, jitter: false },
      handler: ({ payload: { customerId, version }, attempt }) => {
        if (customerId === 'ada' && version === 1 && attempt === 1) throw new Error('not yet');
        handled.push(`${customerId} ${version}`);
      },
    });
    await hub.start();
    await hub.emitMany(changed, [
      { customerId: 'ada', version: 1 },
      { customerId: 'ada', version: 2 },
      { customerId: 'bob', version: 1 },
    ]);
    await clock.advance(500);
    expect(handled).toEqual(['bob 1']);
    await clock.advance(500);
    expect(handled).toEqual(['bob 1', 'ada 1', 'ada 2']);
  });

  it('receives the payload as the handler does', async () => {
    const { hub, clock } = testHub();
    const keys: unknown[] = [];
    const schema = z.object({ id: z.coerce.string(), at: z.string().default('2026-01-01') });
    hub.event({
      type: 'schema',
      schema,
      key: ({ id, at }) => {
        keys.push(id, at);
        return id;
      },
      handler: () => {},
    });
    const withoutSchema = hub.event<{ at: Date }>({
      type: 'plain',
      key: ({ at }) => {
        keys.push(typeof at);
        return 'k';
      },
    });
    await hub.start();
    await hub.emit('schema', { id: 7 });
    await hub.emit(withoutSchema, { at: new Date() });
    await clock.settle();
    expect(keys).toEqual(['7', '2026-01-01', 'string']);
  });

  it('of a follow-up is computed from its payload', async () => {
    const { hub, clock, log } = testHub();
    const running: number[] = [];
    const gate = deferred();
    hub.event<{ customerId?: string }>({
      type: 'placed',
      onSuccess: 'changed',
      handler: ({ payload }) => payload,
    });
    hub.event<{ customerId: string }>({
      type: 'changed',
      key: ({ customerId }) => customerId,
      concurrencyPerKey: 1,
      handler: async () => {
        running.push(1);
        await gate.promise;
      },
    });
    await hub.start();
    await hub.emitMany('placed', [{ customerId: 'ada' }, { customerId: 'ada' }, { customerId: 'bob' }]);
    await clock.settle();
    expect(running).toHaveLength(2);
    gate.resolve();
    await clock.settle();
    expect(running).toHaveLength(3);
    expect(log).toEqual([]);
    await hub.emit('placed', { customerId: '' });
    await clock.settle();
    expect(running).toHaveLength(4);
    expect(log).toMatchObject([{ level: 'warn', fields: { eventType: 'changed', err: { code: 'ERR_INVALID_KEY' } } }]);
  });

  it.each<[unknown, string]>([
    ['', 'must be a string of 1 to 512 characters'],
    ['x'.repeat(513), 'must be a string of 1 to 512 characters'],
    ['a\nb', 'must be a string of 1 to 512 characters'],
    [7, 'got 7'],
    [null, 'got null'],
  ])('%j is refused at emit', async (value, message) => {
    const { hub } = testHub();
    // Wrong on purpose: what the compiler would not let through.
    hub.event({ type: 'a', key: () => value as string, handler: () => {} });
    await hub.start();
    await expect(hub.emit('a', null)).rejects.toMatchObject({
      code: 'ERR_INVALID_KEY',
      message: expect.stringContaining(message),
    });
    expect(await hub.metrics('a')).toMatchObject({ received: 0 });
  });

  it('that throws rejects the emit with its error as the cause', async () => {
    const { hub } = testHub();
    hub.event<Change | null>({ type: 'a', key: (payload) => (payload as Change).customerId, handler: () => {} });
    await hub.start();
    await expect(hub.emit('a', null)).rejects.toMatchObject({ code: 'ERR_INVALID_KEY', cause: expect.any(TypeError) });
  });
});

describe('limits per key', () => {
  it('bound the rate of each key', async () => {
    const { hub, clock } = testHub();
    const handled: string[] = [];
    const sent = hub.event<string>({
      type: 'mail',
      key: (to) => to,
      rate: { max: 1, perMs: 1_000, perKey: true },
      handler: ({ payload }) => void handled.push(payload),
    });
    await hub.start();
    await hub.emitMany(sent, ['ada', 'ada', 'bob']);
    await clock.advance(999);
    expect(handled).toEqual(['ada', 'bob']);
    await clock.advance(1);
    expect(handled).toEqual(['ada', 'bob', 'ada']);
  });

  it('debounce the events of a key', async () => {
    const { hub, clock } = testHub();
    const indexed: Change[] = [];
    const changed = hub.event<Change>({
      type: 'changed',
      key: ({ customerId }) => customerId,
      debounceMs: 5_000,
      debounceMaxMs: 8_000,
      handler: ({ payload }) => void indexed.push(payload),
    });
    await hub.start();
    const first = await hub.emit(changed, { customerId: 'ada', version: 1 });
    await clock.advance(4_000);
    expect(await hub.emit(changed, { customerId: 'ada', version: 2 })).toEqual({ id: first.id, deduplicated: true });
    await clock.advance(3_999);
    expect(indexed).toEqual([]);
    await clock.advance(1);
    expect(indexed).toEqual([{ customerId: 'ada', version: 2 }]);
    expect(await hub.metrics('changed')).toMatchObject({ received: 1, completed: 1, deduplicated: 1 });
  });

  it.each<[string, object]>([
    ['key of event "a" must be a function', { key: 'customerId' }],
    ['key of event "a" must be set if concurrencyPerKey is', { concurrencyPerKey: 1 }],
    ['concurrencyPerKey of event "a" must be a whole number, 1 or more', { key: String, concurrencyPerKey: 0 }],
    ['rate.perKey of event "a" must be omitted if the event has no key', { rate: { max: 1, perMs: 1, perKey: true } }],
    ['rate.perKey of event "a" must be true or false', { key: String, rate: { max: 1, perMs: 1, perKey: 1 } }],
    ['debounceMs of event "a" must be milliseconds, from 1', { debounceMs: 0 }],
    ['debounceMs of event "a" must be milliseconds, from 1', { debounceMs: Number.MAX_VALUE }],
    ['debounceMaxMs of event "a" must be milliseconds, from 500', { debounceMs: 500, debounceMaxMs: 499 }],
    ['debounceMs of event "a" must be set if debounceMaxMs is', { debounceMaxMs: 5 }],
    [
      'concurrencyPerKey of event "a" must be omitted if there is no handler',
      { handler: undefined, key: String, concurrencyPerKey: 1 },
    ],
  ])('are checked at registration: %s', (message, options) => {
    expect(() => testHub().hub.event({ type: 'a', handler: () => {}, ...options })).toThrow(message);
  });
});
