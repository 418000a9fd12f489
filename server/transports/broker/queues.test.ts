import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { DelayQueue, Deque, WaitingList } from './queues.js';

describe('Deque', () => {
  it('behaves like an array', () => {
    const operation = fc.constantFrom('push', 'push', 'push', 'unshift', 'shift');
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 3_000 }), (operations) => {
        const deque = new Deque<number>();
        const array: number[] = [];
        for (const [item, name] of operations.entries()) {
          if (name === 'shift') expect(deque.shift()).toBe(array.shift());
          else {
            deque[name](item);
            array[name](item);
          }
          expect(deque.size).toBe(array.length);
        }
        expect([...deque.items()]).toEqual(array);
        while (array.length > 0) expect(deque.shift()).toBe(array.shift());
        expect(deque.shift()).toBeUndefined();
      }),
      { numRuns: runs(50) },
    );
  });
});

describe('DelayQueue', () => {
  it('returns items by due time, first in first out among equal times, and none early', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), fc.nat(60), (dueTimes, now) => {
        const queue = new DelayQueue<number>();
        for (const [index, dueAt] of dueTimes.entries()) queue.push(index, dueAt);
        const expected = [...dueTimes.entries()].filter(([, dueAt]) => dueAt <= now).sort(([, a], [, b]) => a - b);
        const taken: number[] = [];
        for (let item = queue.shift(now); item !== undefined; item = queue.shift(now)) taken.push(item);
        expect(taken).toEqual(expected.map(([index]) => index));
        const later = dueTimes.filter((dueAt) => dueAt > now);
        expect(queue.nextDueAt).toBe(later.length === 0 ? undefined : Math.min(...later));
      }),
    );
  });
});

describe('DelayQueue.remove', () => {
  it('removes single items and retains the order of the others', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ dueAt: fc.nat(50), isRemoved: fc.boolean() })), (items) => {
        const queue = new DelayQueue<number>();
        for (const [index, { dueAt }] of items.entries()) queue.push(index, dueAt);
        for (const [index, { isRemoved }] of items.entries()) if (isRemoved) expect(queue.remove(index)).toBe(true);
        expect(queue.remove(items.length)).toBe(false);
        const kept = [...items.entries()].filter(([, { isRemoved }]) => !isRemoved);
        expect([...queue.items()].sort((a, b) => a - b)).toEqual(kept.map(([index]) => index));
        const taken = items.map(() => queue.shift(50)).filter((item) => item !== undefined);
        expect(taken).toEqual(kept.sort(([, a], [, b]) => a.dueAt - b.dueAt).map(([index]) => index));
      }),
    );
  });

  it('removes items that were added after a removal', () => {
    const queue = new DelayQueue<string>();
    queue.remove('none');
    queue.push('a', 1);
    queue.push('b', 2);
    expect(queue.remove('a')).toBe(true);
    expect([queue.shift(5), queue.shift(5)]).toEqual(['b', undefined]);
  });
});

describe('WaitingList', () => {
  it('returns the highest priority first, and first in first out within a priority', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -3, max: 3 })), (priorities) => {
        const list = new WaitingList<number>();
        for (const [index, priority] of priorities.entries()) list.push(index, priority);
        const expected = [...priorities.entries()].sort(([, a], [, b]) => b - a).map(([index]) => index);
        const taken = priorities.map(() => list.shift());
        expect(taken).toEqual(expected);
        expect(list.size).toBe(0);
      }),
    );
  });

  it('forgets removed items, however many there are', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 500 }), (removals) => {
        const list = new WaitingList<number>();
        for (const index of removals.keys()) list.push(index, index % 3);
        for (const [index, isRemoved] of removals.entries()) if (isRemoved) list.remove(index);
        const kept = [...removals.keys()].filter((index) => removals[index] === false);
        expect(list.size).toBe(kept.length);
        expect([...list.items()].sort((a, b) => a - b)).toEqual(kept);
        expect(kept.map(() => list.shift())).toEqual(kept.sort((a, b) => (b % 3) - (a % 3) || a - b));
        expect(list.shift()).toBeUndefined();
      }),
    );
  });
});
