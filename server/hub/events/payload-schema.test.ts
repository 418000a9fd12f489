import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InvalidSchemaError } from '../../errors.js';
import { SchemaValidationError } from '../errors.js';
import { testHub } from '../hub.fixture.js';
import { createWorkflow } from '../runs/workflow.js';

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

  it('passes its output to the handler, the same to every attempt', async () => {
    const { hub, clock } = testHub();
    let draws = 0;
    const seen: { text: string; draw: number }[] = [];
    const created = hub.event({
      type: 'a',
      schema: z.object({ text: z.string().trim(), draw: z.number().default(() => ++draws) }),
      retry: { initialDelayMs: 10, jitter: false },
      handler: ({ payload }) => {
        seen.push(payload);
        throw new Error('again');
      },
    });
    await hub.start();
    await hub.emit(created, { text: ' x ' });
    await clock.advance(100);
    const [first] = seen;
    expect(first).toMatchObject({ text: 'x' });
    expect(seen).toEqual([first, first, first]);
    expect(await hub.deadLetters(created)).toMatchObject([{ payload: first }]);
  });

  it('passes its output to a run, the same to every delivery and attempt', async () => {
    const { hub, clock } = testHub();
    let defaults = 0;
    const input = z.object({ token: z.string().default(() => `token ${++defaults}`) });
    const seen: string[] = [];
    const workflow = hub.workflow(
      createWorkflow({
        name: 'w',
        input,
        run: async ({ input: { token }, step }) => {
          seen.push(token);
          await step.sleep('pause', 1_000);
          const retry = { maxAttempts: 2, initialDelayMs: 10 };
          await step.run('flaky', ({ attempt }) => (attempt === 1 ? Promise.reject(new Error('no')) : token), {
            retry,
          });
          return token;
        },
      }),
    );
    hub.event({ type: 'go', handler: (ctx) => ctx.startWorkflow(workflow, {}).then(() => {}) });
    await hub.start();
    const handle = await hub.startWorkflow(workflow, {});
    await clock.advance(5_000);
    const first = seen[0];
    expect(await handle.result()).toBe(first);
    expect(seen.length).toBeGreaterThan(2);
    expect(new Set(seen).size).toBe(1);
    seen.length = 0;
    await hub.emit('go', null);
    await clock.advance(5_000);
    expect(seen.length).toBeGreaterThan(2);
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).not.toBe(first);
  });

  it('applies to follow-ups too', async () => {
    const { hub, clock } = testHub();
    const seen: unknown[] = [];
    const counted = z.object({ count: z.number().default(7) });
    const onEvent = ({ payload }: { payload: unknown }) => seen.push(payload);
    hub.event({ type: 'a', onSuccess: 'b', handler: () => ({}) });
    hub.event({ type: 'b', onSuccess: 'c', schema: counted, handler: onEvent });
    hub.event({ type: 'c', schema: z.unknown().transform(async () => 'parsed'), handler: onEvent });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(seen).toEqual([{ count: 7 }, 'parsed']);
  });

  it.each<[string, z.ZodType, unknown, string]>([
    ['rejects its own output', z.string().transform(Number), '5', 'it rejects its own output'],
    ['has an output that JSON would change', z.coerce.date(), '2026-01-01', 'its output is a Date'],
    ['has an output that is no JSON', z.string().transform(() => new Map()), 'x', 'its output is of class Map'],
  ])('throws InvalidSchemaError at emit if it %s', async (_, schema, payload, message) => {
    const { hub } = testHub();
    hub.event({ type: 'a', schema, handler: () => {} });
    await hub.start();
    const emitted = hub.emit('a', payload);
    await expect(emitted).rejects.toThrow(InvalidSchemaError);
    await expect(emitted).rejects.toThrow(message);
    expect(await hub.metrics('a')).toMatchObject({ received: 0 });
  });

  it('names JSON as the cause if it expects a Date', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a', schema: z.object({ at: z.date() }), handler: () => {} });
    await hub.start();
    await expect(hub.emit('a', { at: new Date() })).rejects.toThrow(
      'payload.at Invalid input: expected date, received string (a Date was emitted, and payloads are JSON',
    );
  });

  it('checks values that take long in a turn of the event loop each, in order', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a', schema: { uniqueItems: true } });
    await hub.start();
    const large = Array.from({ length: 25_000 }, (_, index) => index);
    let turns = 0;
    let isOver = false;
    const turning = (async () => {
      for (; !isOver; turns += 1) await setImmediate();
    })();
    const accepted: [place: number, turn: number][] = [];
    const emits = [large, large, [1], large].map((payload, place) =>
      hub.emit('a', payload).then(() => accepted.push([place, turns])),
    );
    await Promise.all(emits);
    isOver = true;
    await turning;
    expect(accepted.map(([place]) => place)).toEqual([0, 1, 2, 3]);
    expect(new Set(accepted.map(([, turn]) => turn)).size).toBe(3);
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
