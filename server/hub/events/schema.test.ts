import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SchemaValidationError } from '../errors.js';
import { testHub } from '../hub.fixture.js';

describe('schema', () => {
  it('rejects at emit with the issues, and counts nothing', async () => {
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

  it('passes its output to the handler', async () => {
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

  it('may validate asynchronously', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', schema: z.string().refine(async (text) => text !== 'bad'), handler: () => {} });
    await hub.start();
    await hub.emit('a', 'good');
    await expect(hub.emit('a', 'bad')).rejects.toThrow(SchemaValidationError);
    await clock.settle();
    expect(await hub.metrics('a')).toMatchObject({ received: 1, completed: 1 });
  });

  it('validates again before the handler, and fails without a retry', async () => {
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
        message: 'payload of "b" does not match its schema at payload.total',
      },
    ]);
  });

  it('throws at registration if it is an invalid JSON Schema', () => {
    const { hub } = testHub();
    expect(() => hub.event({ type: 'a', schema: { type: 'objekt' } })).toThrow('schema of event "a" is not valid');
  });
});
