import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DelayQueue } from './delay-queue.js';
import { Deque } from './deque.js';
import { RateWindow } from './rate-window.js';
import { WaitingList } from './waiting-list.js';

describe('Deque', () => {
  it('behaves like an array', () => {
    const operation = fc.constantFrom('push', 'push', 'push', 'unshift', 'shift', 'remove');
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 3_000 }), (operations) => {
        const deque = new Deque<number>();
        const array: number[] = [];
        for (const [item, name] of operations.entries()) {
          if (name === 'shift') expect(deque.shift()).toBe(array.shift());
          else if (name === 'remove') {
            const old = item - 3;
            expect(deque.remove(old)).toBe(array.includes(old));
            if (array.includes(old)) array.splice(array.indexOf(old), 1);
          } else {
            deque[name](item);
            array[name](item);
          }
          expect(deque.size).toBe(array.length);
        }
        while (array.length > 0) expect(deque.shift()).toBe(array.shift());
        expect(deque.shift()).toBeUndefined();
      }),
      { numRuns: 50 },
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
  it('removes one item and retains the order of the others', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { minLength: 1 }), fc.nat(), (dueTimes, pick) => {
        const removed = pick % dueTimes.length;
        const queue = new DelayQueue<number>();
        for (const [index, dueAt] of dueTimes.entries()) queue.push(index, dueAt);
        queue.remove(removed);
        queue.remove(dueTimes.length);
        const taken = dueTimes.map(() => queue.shift(50)).filter((item) => item !== undefined);
        const expected = [...dueTimes.entries()].sort(([, a], [, b]) => a - b).map(([index]) => index);
        expect(taken).toEqual(expected.filter((index) => index !== removed));
      }),
    );
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
});

describe('RateWindow', () => {
  it('never allows more than max starts per window', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(40)), (max, gaps) => {
        const window = new RateWindow({ max, perMs: 100 });
        const starts: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          if (window.openAt > now) continue;
          window.countStart(now);
          starts.push(now);
        }
        for (const start of starts) {
          expect(starts.filter((other) => other >= start && other < start + 100).length).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});
