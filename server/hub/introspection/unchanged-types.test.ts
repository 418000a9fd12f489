import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { createHub } from '../create-hub.js';
import { withHandlerInfo } from '../events/reported-agents.js';
import { testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { HubIntrospection } from './introspection.js';

const types = ['fine', 'retried', 'broken', 'slow', 'debounced', 'deduplicated', 'shared'] as const;
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

interface Shop {
  readonly clock: FakeClock;
  readonly hub: Hub;
  act(action: Action): Promise<void>;
  stop(): Promise<void>;
}

type Action =
  | { readonly what: 'emit'; readonly type: (typeof types)[number]; readonly delayMs: number }
  | { readonly what: 'advance'; readonly ms: number }
  | { readonly what: 'replay' | 'cancel' | 'join' | 'leave' };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('emit'),
      type: fc.constantFrom(...types),
      delayMs: fc.constantFrom(0, 0, 90_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('advance'), ms: fc.constantFrom(0, 400, 20_000, 60_000, 21 * 60_000) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('replay', 'cancel', 'join', 'leave') }) },
);

async function openShop(): Promise<Shop> {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, maxDeadLetterAgeMs: 30 * 60_000 });
  const hub = createHub({ transport, logger, service: 'shop' });
  const fail = (): never => {
    throw new Error('declined');
  };
  hub.event({ type: 'fine', handler: () => {} });
  hub.event({ type: 'retried', retry: { maxAttempts: 3, jitter: false }, handler: fail });
  hub.event({ type: 'broken', handler: fail });
  hub.event({
    type: 'slow',
    concurrency: 1,
    handler: () => new Promise((resolve) => clock.after(30_000, () => resolve(1))),
  });
  hub.event({ type: 'debounced', debounceMs: 10_000, handler: () => {} });
  hub.event({ type: 'deduplicated', dedupeWindowMs: 1_000, handler: () => {} });
  hub.event({ type: 'shared', handler: () => {} });
  await hub.start();
  let mail: Hub | undefined;
  const pending: string[] = [];
  const stop = async (): Promise<void> => {
    const leaving = mail?.stop({ drainMs: 0 });
    mail = undefined;
    await leaving;
  };
  return {
    clock,
    hub,
    async act(next) {
      if (next.what === 'emit') {
        const options = {
          ...(next.delayMs > 0 && next.type !== 'debounced' && { delayMs: next.delayMs }),
          ...(next.type === 'deduplicated' && { dedupeId: 'd' }),
        };
        const { id } = await hub.emit(next.type, 1, options);
        pending.push(id);
      } else if (next.what === 'advance') await clock.advance(next.ms);
      else if (next.what === 'replay') {
        const [letter] = await hub.deadLetters('broken');
        if (letter !== undefined) await hub.replay(letter.id);
      } else if (next.what === 'cancel') {
        const id = pending.pop();
        if (id !== undefined) await hub.cancel(id);
      } else if (next.what === 'leave') await stop();
      else if (mail === undefined) {
        mail = createHub({ transport, logger, service: 'mail' });
        mail.event({ type: 'shared', handler: fail });
        await mail.start();
      }
      await clock.settle();
    },
    async stop() {
      await stop();
      await hub.stop({ drainMs: 0 });
    },
  };
}

/** Returns an introspection without what differs by chance. */
function comparable({ hub, totals, events }: HubIntrospection): unknown {
  return {
    hub,
    totals,
    events: events.map(({ lastFailure, ...event }) => ({
      ...event,
      failed: lastFailure && { at: lastFailure.at, attempt: lastFailure.attempt },
    })),
  };
}

it('returns the same, however often it was read before, and never changes what it returned', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ action, reads: fc.boolean() }), { maxLength: 25 }), async (steps) => {
      const [often, once] = await Promise.all([openShop(), openShop()]);
      const bodies: (readonly [HubIntrospection, string])[] = [];
      for (const { action: next, reads } of steps) {
        await often.act(next);
        await once.act(next);
        if (!reads) continue;
        const body = await often.hub.introspect();
        bodies.push([body, JSON.stringify(body)]);
      }
      expect(comparable(await often.hub.introspect())).toEqual(comparable(await once.hub.introspect()));
      for (const [body, text] of bodies) expect(JSON.stringify(body)).toBe(text);
      await Promise.all([often.stop(), once.stop()]);
    }),
    { numRuns: 30 },
  );
});

it('returns the same objects for types that did not change', async () => {
  const { hub, clock } = testHub();
  for (const type of ['idle', 'busy']) hub.event({ type, handler: () => {} });
  const tokenUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  let model = 'small';
  const agents = () => [{ name: 'bot', model, tools: ['search'], delegates: [], runs: { completed: 0 }, tokenUsage }];
  hub.event({ type: 'asked', handler: withHandlerInfo(() => {}, { kind: 'agent', name: 'bot', agents }) });
  await hub.start();
  const read = async () => (await hub.introspect()).events;
  for (const type of ['idle', 'busy']) await hub.emit(type, 1);
  await clock.settle();
  const [idle, busy, asked] = await read();
  await hub.emit('busy', 1);
  await clock.settle();
  const [idleLater, busyLater, askedLater] = await read();
  expect(idleLater).toBe(idle);
  expect(askedLater).toBe(asked);
  expect([busy?.metrics.completed, busyLater?.metrics.completed]).toEqual([1, 2]);
  model = 'large';
  expect([asked, (await read())[2]]).toMatchObject([{ agent: { model: 'small' } }, { agent: { model: 'large' } }]);
  await clock.advance(60_000);
  expect((await read())[0]?.recent.minutes.received.slice(-2)).toEqual([1, 0]);
});
