import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { testHub } from '../hub.fixture.js';
import { Draft } from './emit.js';
import { payloads } from './payload.fixture.js';
import { takeSnapshot } from './payload.js';

interface Cart {
  items: string[];
}

/** Returns the payload as it was received, and changes it. */
function spoil(cart: Cart): string {
  const received = JSON.stringify(cart);
  cart.items.push('spoilt');
  return received;
}

it.each([
  ['short', 1, 3],
  ['long', 20_000, 3],
  ['many', 1, 600],
])('hands every attempt of every service its own payload as it was emitted, of %s ones', async (_, length, count) => {
  const { hub: shop, transport, clock } = testHub({ service: 'shop' });
  const { hub: mail } = testHub({ service: 'mail', transport });
  const seen = vi.fn();
  const config = { type: 'cart', retry: { maxAttempts: 2, initialDelayMs: 10, jitter: false } };
  for (const hub of [shop, mail]) {
    hub.event<Cart>({
      ...config,
      handler: ({ payload, attempt, requestId }) => {
        seen(requestId, spoil(payload));
        if (attempt === 1) throw new Error('once more');
      },
    });
  }
  await mail.start();
  await shop.start();
  const emitted: string[] = [];
  const sent: Promise<unknown>[] = [];
  for (let index = 0; index < count; index += 1) {
    const cart = { items: ['x'.repeat(length)] };
    emitted.push(JSON.stringify(cart));
    sent.push(shop.emit('cart', cart, { requestId: `r${index}` }));
    cart.items.push('changed by the emitter');
  }
  await Promise.all(sent);
  while (seen.mock.calls.length < count * 4) await clock.advance(10);
  for (const [requestId, received] of seen.mock.calls) {
    expect(received).toBe(emitted[Number(requestId.slice(1))]);
  }
});

it('hands the payload of a replaced body to the handler', async () => {
  const { hub, clock } = testHub();
  const seen = vi.fn();
  hub.event<{ n: number }>({
    type: 'typed',
    key: () => 'one',
    debounceMs: 50,
    handler: ({ payload }) => seen(payload),
  });
  await hub.start();
  await hub.emit('typed', { n: 1 });
  await hub.emit('typed', { n: 2 });
  await clock.advance(50);
  expect(seen.mock.calls).toEqual([[{ n: 2 }]]);
});

it('is stored by JSON.stringify with its body', () => {
  const draft = new Draft('a', takeSnapshot({ n: 1 }, 'a', 100), { priority: 5 }, 0, undefined).identify('one');
  const stored = {
    id: 'one',
    type: 'a',
    requestId: 'one',
    body: '{"n":1}',
    depth: 0,
    delayMs: 0,
    priority: 5,
    replays: 0,
  };
  expect(JSON.parse(JSON.stringify([draft]))).toEqual([stored]);
});

/** Returns all objects of a value. */
function objectsOf(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsOf)];
}

it('hands every attempt an equal payload that shares no object with another or with the emitted one', async () => {
  const source = fc.record({
    payload: payloads,
    failures: fc.constantFrom(0, 1, 2, 3),
    // Enough to pack the payload before the first attempt, or not.
    backlog: fc.constantFrom(0, 300),
    isKeyed: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(source, async ({ payload, failures, backlog, isKeyed }) => {
      fc.pre(payload !== undefined);
      const expected: unknown = JSON.parse(JSON.stringify(payload));
      const { hub: shop, transport, clock } = testHub({ service: 'shop' });
      const { hub: mail } = testHub({ service: 'mail', transport });
      const known = new Set(objectsOf(payload));
      let received = 0;
      const receive = (value: unknown): void => {
        received += 1;
        expect(value).toStrictEqual(expected);
        for (const object of objectsOf(value)) {
          expect(known.has(object)).toBe(false);
          known.add(object);
        }
        for (const object of objectsOf(value)) Object.assign(object, { spoilt: true, 0: 'spoilt' });
      };
      for (const hub of [shop, mail]) {
        hub.event<unknown>({
          type: 'a',
          retry: { maxAttempts: 2, initialDelayMs: 10, jitter: false },
          ...(isKeyed && {
            key: (value) => {
              receive(value);
              return 'k';
            },
          }),
          handler: ({ payload }) => {
            receive(payload);
            if (received <= failures * 2) throw new Error('once more');
          },
        });
        hub.event({ type: 'other', handler: () => {} });
      }
      await mail.start();
      await shop.start();
      const sent = shop.emit('a', payload);
      for (const object of objectsOf(payload)) if (!Object.isFrozen(object)) Object.assign(object, { changed: true });
      await Promise.all([sent, shop.emitMany('other', Array(backlog).fill(1))]);
      const { id } = await sent;
      await clock.advance(100);
      for (const hub of [shop, mail]) {
        for (const letter of await hub.deadLetters('a')) {
          expect(letter.payload).toStrictEqual(expected);
          await hub.replay(id);
          await clock.advance(100);
        }
        const found = await hub.find(id, { payloads: true });
        for (const { isDeadLetter, payload } of found) if (isDeadLetter) expect(payload).toStrictEqual(expected);
      }
      expect(received).toBeGreaterThanOrEqual(2);
    }),
    { numRuns: runs(30) },
  );
});
