import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { type Keyed, KeyedList } from './keyed-list.js';

interface Item extends Keyed {
  readonly id: number;
}

function item(id: number, key: string | undefined, priority = 0): Item {
  return { id, envelope: { key, priority }, keyHolder: undefined };
}

describe('KeyedList', () => {
  it('holds its limits, loses nothing and orders each key, whatever happens', () => {
    const key = fc.constantFrom('a', 'b', 'c', undefined);
    const command = fc.oneof(
      fc.record({ do: fc.constant('push' as const), key, priority: fc.integer({ min: -1, max: 1 }) }),
      fc.record({ do: fc.constantFrom('shift' as const, 'shift' as const), after: fc.nat(30) }),
      fc.record({ do: fc.constantFrom('release' as const, 'requeue' as const), pick: fc.nat() }),
      fc.record({ do: fc.constant('remove' as const), pick: fc.nat() }),
    );
    const limits = fc.record({
      concurrency: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      rate: fc.option(fc.record({ max: fc.integer({ min: 1, max: 3 }), perMs: fc.constant(50) }), { nil: undefined }),
    });
    fc.assert(
      fc.property(limits, fc.array(command, { maxLength: 150 }), ({ concurrency, rate }, commands) => {
        const list = new KeyedList<Item>({ concurrency, rate });
        const waiting = new Set<Item>();
        const taken = new Set<Item>();
        const starts = new Map<string | undefined, number[]>();
        let now = 0;
        let ids = 0;
        const shift = (): Item | undefined => {
          list.promote(now);
          const next = list.shift(now);
          if (next === undefined) return undefined;
          expect(waiting.delete(next)).toBe(true);
          taken.add(next);
          const { key: keyOfNext } = next.envelope;
          const sameKey = [...waiting].filter(
            (other) => other.envelope.key === keyOfNext && other.keyHolder === undefined,
          );
          // A new item is the oldest of the highest priority of its key.
          for (const other of sameKey) {
            if (starts.has(`item ${next.id}`)) break;
            expect(other.envelope.priority).toBeLessThanOrEqual(next.envelope.priority);
            if (other.envelope.priority === next.envelope.priority) expect(other.id).toBeGreaterThan(next.id);
          }
          starts.set(`item ${next.id}`, [now]);
          if (keyOfNext === undefined) return next;
          const holders = [...taken, ...waiting].filter(
            (one) => one.envelope.key === keyOfNext && one.keyHolder !== undefined,
          );
          expect(holders.length).toBeLessThanOrEqual(concurrency ?? Number.POSITIVE_INFINITY);
          const ofKey = [...(starts.get(keyOfNext) ?? []), now];
          starts.set(keyOfNext, ofKey);
          const inWindow = ofKey.filter((start) => start > now - (rate?.perMs ?? 0));
          if (rate !== undefined) expect(inWindow.length).toBeLessThanOrEqual(rate.max);
          return next;
        };
        const pickOf = (items: ReadonlySet<Item>, pick: number): Item | undefined => [...items][pick % items.size];
        for (const one of commands) {
          if (one.do === 'push') {
            ids += 1;
            const added = item(ids, one.key, one.priority);
            waiting.add(added);
            list.push(added);
          } else if (one.do === 'shift') {
            now += one.after;
            shift();
          } else if (one.do === 'remove') {
            const removed = pickOf(waiting, one.pick);
            if (removed === undefined) continue;
            list.remove(removed, now);
            waiting.delete(removed);
            list.release(removed, now);
          } else {
            const done = pickOf(taken, one.pick);
            if (done === undefined) continue;
            taken.delete(done);
            // An attempt ends before its item does.
            list.pause(done);
            if (one.do === 'release') {
              list.release(done, now);
            } else {
              waiting.add(done);
              list.push(done);
            }
          }
        }
        // Everything is taken in the end, and the list forgets the keys.
        for (let rounds = 0; waiting.size + taken.size > 0; rounds += 1) {
          expect(rounds).toBeLessThan(1_000);
          for (const done of taken) {
            list.pause(done);
            list.release(done, now);
          }
          taken.clear();
          if (shift() === undefined && waiting.size > 0) {
            expect(list.nextDueAt).toBeDefined();
            now = Math.max(now, list.nextDueAt ?? now);
          }
        }
        for (let due = list.nextDueAt; due !== undefined; due = list.nextDueAt) {
          now = Math.max(now, due);
          list.promote(now);
        }
        expect(list.shift(now)).toBeUndefined();
        expect(list.keys).toBe(0);
        expect(list.hasWaiting).toBe(false);
      }),
      { numRuns: runs(500) },
    );
  });

  it('takes one item of each key in turn', () => {
    const list = new KeyedList<Item>({});
    for (let id = 0; id < 6; id += 1) list.push(item(id, 'flood'));
    list.push(item(6, 'b'));
    list.push(item(7, 'c'));
    const ids = Array.from({ length: 8 }, () => list.shift(0)?.id);
    expect(ids).toEqual([0, 6, 7, 1, 2, 3, 4, 5]);
  });

  it('forgets its keys when their items have ended', () => {
    const list = new KeyedList<Item>({ concurrency: 1 });
    const items = Array.from({ length: 100_000 }, (_, id) => item(id, `key-${id}`));
    for (const one of items) list.push(one);
    expect(list.keys).toBe(100_000);
    let inOrder = 0;
    for (const one of items) {
      if (list.shift(0) === one) inOrder += 1;
      list.release(one, 0);
    }
    expect(inOrder).toBe(items.length);
    expect(list.keys).toBe(0);
  });

  it('applies new limits to what waits', () => {
    const list = new KeyedList<Item>({ concurrency: 1, rate: { max: 1, perMs: 1_000 } });
    for (let id = 0; id < 3; id += 1) list.push(item(id, 'k'));
    expect(list.shift(0)?.id).toBe(0);
    list.setLimits({ concurrency: 2 });
    expect(list.shift(0)?.id).toBe(1);
    expect(list.shift(0)).toBeUndefined();
    list.setLimits({});
    expect(list.shift(0)?.id).toBe(2);
  });
});
