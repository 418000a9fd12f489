import { expect, it } from 'vitest';
import { COUNTERS } from '../statistics/stats.js';
import { type CountedQueue, readQueueCounts } from './type-queue.js';

const elsewhere = ['pending', 'deadLetters', 'approvals', 'awaitingVersion', 'oldestPendingAt'];

/** A value of its own for each counter of the list, and pending events. */
const counters = Object.keys(COUNTERS).filter((name) => !elsewhere.includes(name));
const stats = {
  // The list has all names.
  ...(Object.fromEntries(counters.map((name, index) => [name, index + 10])) as unknown as CountedQueue['stats']),
  received: 99,
};
const queue = {
  stats,
  deadLetters: { size: 2 },
  runs: { approvals: { size: 1 } },
  newer: { size: 1 },
  reader: { oldestAt: 800 },
};

it.each([
  ...counters.map((name) => [name, { ...queue, stats: { ...stats, [name]: 77 } }] as const),
  ['deadLetters', { ...queue, deadLetters: { size: 77 } }] as const,
  ['approvals', { ...queue, runs: { approvals: { size: 77 } } }] as const,
  ['awaitingVersion', { ...queue, newer: { size: 77 } }] as const,
  ['oldestPendingAt', { ...queue, reader: { oldestAt: 77 } }] as const,
])('returns another object if %s has changed, and the same one if not', (name, changed) => {
  const counts = readQueueCounts(queue, undefined);
  expect(readQueueCounts(queue, counts)).toBe(counts);
  expect(counts).not.toMatchObject({ [name]: 77 });
  expect(readQueueCounts(changed, counts)).toEqual({
    ...counts,
    [name]: 77,
    ...('received completed failed'.includes(name) && { pending: expect.any(Number) }),
  });
});

it('returns no time of the oldest pending event if none is pending', () => {
  const ended = { ...queue, stats: { ...stats, completed: 99 - stats.failed } };
  expect(readQueueCounts(ended, undefined)).not.toHaveProperty('oldestPendingAt');
});
