import { expect, it } from 'vitest';
import { readQueueCounts } from './type-queue.js';

const stats = {
  received: 99,
  completed: 3,
  failed: 2,
  cancelled: 1,
  active: 1,
  delayed: 1,
  suspended: 1,
  retried: 4,
  deduplicated: 5,
  lastReceivedAt: 1_000,
  lastFailedAt: 900,
};
const queue = {
  stats,
  deadLetters: { size: 2 },
  runs: { approvals: { size: 1 } },
  reader: { oldestAt: 800 },
};

it.each([
  ...Object.keys(stats).map((name) => [name, { ...queue, stats: { ...stats, [name]: 7 } }] as const),
  ['deadLetters', { ...queue, deadLetters: { size: 7 } }] as const,
  ['approvals', { ...queue, runs: { approvals: { size: 7 } } }] as const,
  ['oldestPendingAt', { ...queue, reader: { oldestAt: 7 } }] as const,
])('returns another object if %s has changed, and the same one if not', (name, changed) => {
  const counts = readQueueCounts(queue, undefined);
  expect(readQueueCounts(queue, counts)).toBe(counts);
  expect(counts).not.toMatchObject({ [name]: 7 });
  expect(readQueueCounts(changed, counts)).toEqual({
    ...counts,
    [name]: 7,
    ...('received completed failed'.includes(name) && { pending: expect.any(Number) }),
  });
});

it('returns no time of the oldest pending event if none is pending', () => {
  const ended = { ...queue, stats: { ...stats, completed: 97 } };
  expect(readQueueCounts(ended, undefined)).not.toHaveProperty('oldestPendingAt');
});
