import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { createLimit } from './limit.js';
import { LimitKeeper } from './limit-keeper.js';
import { leaseMs, renewPermits, returnPermits, takePermits } from './limit-state.js';

const rule = fc.oneof(
  fc.record({ max: fc.integer({ min: 1, max: 5 }), perMs: fc.integer({ min: 10, max: 200 }) }),
  fc.record({ concurrency: fc.integer({ min: 1, max: 3 }) }),
);
const command = fc.oneof(
  fc.record({ do: fc.constant('take' as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constantFrom('return' as const, 'renew' as const), pick: fc.nat() }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.oneof(fc.nat(50), fc.constant(leaseMs)) }),
);

it('never takes more permits than the rule allows, and takes all that it allows', () => {
  fc.assert(
    fc.property(rule, fc.array(command, { maxLength: 80 }), (limit, commands) => {
      let state: string | undefined;
      let now = 1_000;
      let ids = 0;
      const starts: number[] = [];
      const held = new Map<string, number>();
      const free = (): number => {
        if (!('concurrency' in limit)) return limit.max - starts.filter((start) => start > now - limit.perMs).length;
        return limit.concurrency - [...held.values()].filter((until) => until > now).length;
      };
      for (const each of commands) {
        if (each.do === 'wait') {
          now += each.ms;
        } else if (each.do === 'take') {
          const wanted = Array.from({ length: each.count }, () => String(ids++));
          const allowed = Math.max(0, Math.min(each.count, free()));
          const { taken, ...changed } = takePermits(limit, state, now, wanted);
          expect(taken).toBe(allowed);
          state = changed.state;
          for (const id of wanted.slice(0, taken)) {
            starts.push(now);
            held.set(id, now + leaseMs);
          }
        } else if ('concurrency' in limit) {
          const id = [...held.keys()][each.pick % Math.max(1, held.size)] ?? '';
          const isHeld = (held.get(id) ?? 0) > now;
          if (each.do === 'return') held.delete(id);
          else if (isHeld) held.set(id, now + leaseMs);
          state = (each.do === 'return' ? returnPermits : renewPermits)(state, now, new Set([id])).state;
        }
      }
    }),
  );
});

it('a process keeps its permits while it lives, and others take those of a process that died', async () => {
  const clock = createFakeClock();
  const { kv } = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  const one = createLimit({ name: 'one', concurrency: 1 });
  const once = { maxWaitMs: 0, isOver: () => false };
  const living = new LimitKeeper(kv, clock);
  // Its clock stands still: it renews nothing.
  const dying = new LimitKeeper(kv, createFakeClock());
  expect(await dying.acquire(one, once)).not.toBeTypeOf('number');
  expect(await living.acquire(one, once)).toBeTypeOf('number');
  await clock.advance(leaseMs);
  const permit = await living.acquire(one, once);
  if (typeof permit === 'number') throw new Error('the permit is not free');
  await clock.advance(3 * leaseMs);
  expect(await dying.acquire(one, once)).toBeTypeOf('number');
  void permit.release();
  await clock.settle();
  expect(await dying.acquire(one, once)).not.toBeTypeOf('number');
  expect(clock.pendingTimers).toBe(0);
});

it('a permit that comes too late is returned', async () => {
  const clock = createFakeClock();
  const { kv } = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  const keeper = new LimitKeeper(kv, clock);
  const one = createLimit({ name: 'one', concurrency: 1 });
  expect(await keeper.acquire(one, { isOver: () => true })).toBeTypeOf('number');
  await clock.settle();
  expect(await keeper.acquire(one, { maxWaitMs: 0, isOver: () => false })).not.toBeTypeOf('number');
});

it.each<[string, object, string]>([
  ['no rule', { name: 'a' }, 'max of limit "a"'],
  ['both rules', { name: 'a', max: 1, perMs: 1, concurrency: 1 }, 'max of limit "a"'],
  ['no name', { max: 1, perMs: 1 }, 'name of createLimit'],
  ['too high a concurrency', { name: 'a', concurrency: 1_001 }, 'concurrency of limit "a"'],
])('createLimit refuses %s', (_, options, subject) => {
  expect(() => createLimit(options as never)).toThrow(subject);
  expect(() => createLimit({ name: 'a', concurrency: 1 }).for('')).toThrow('key of limit "a"');
});
