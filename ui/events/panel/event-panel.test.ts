import { expect, test } from 'vitest';
import type { EventOverview } from '../../../server/dashboard/protocol.js';
import { countsOf, eventOf, failingOf, periodOf, recentOf, SERVER_NOW } from '../../testing/test-data.js';
import { statusSentence } from './event-panel.js';

test.each<[string, EventOverview]>([
  ['38 of 760 failed in 5 min (5.0%) · 2 s ago', failingOf('a', 722, 38, { lastFailedAt: SERVER_NOW - 2_000 })],
  ['Nothing failed in 5 min, 12 completed', eventOf('a', countsOf(12), { recent: recentOf(periodOf(12)) })],
  [
    'Nothing failed in 5 min, 12 completed, 3 waiting, the oldest for 1 min',
    eventOf('a', countsOf(12, 0, { pending: 3, oldestPendingAt: SERVER_NOW - 60_000 }), {
      recent: recentOf(periodOf(12)),
    }),
  ],
  [
    'Nothing failed in 5 min, 12 completed, 2 waiting, all suspended',
    eventOf('a', countsOf(12, 0, { pending: 2, suspended: 2 }), { recent: recentOf(periodOf(12)) }),
  ],
  [
    '9 waiting, the oldest for 1 min',
    eventOf('a', countsOf(9, 0, { pending: 9, oldestPendingAt: SERVER_NOW - 60_000 }), {
      recent: recentOf(periodOf(0)),
    }),
  ],
  ['No event in 5 min, last 2 h ago', eventOf('a', countsOf(1, 0, { lastReceivedAt: SERVER_NOW - 7_200_000 }))],
  ['No event was received since the start', eventOf('a')],
])('%s', (expected, event) => {
  expect(statusSentence(event, SERVER_NOW)).toBe(expected);
});

test('what waits has the age that its problem has, not that of what runs', () => {
  const metrics = countsOf(0, 0, { received: 9, pending: 9, active: 1, oldestPendingAt: SERVER_NOW - 540_000 });
  const event = eventOf('a', metrics, { recent: recentOf(periodOf(0)) });
  expect(statusSentence(event, SERVER_NOW)).toBe('8 waiting, 1 running');
  const problem = { kind: 'oldest-pending', severity: 'warning', since: SERVER_NOW - 480_000 } as const;
  expect(statusSentence(event, SERVER_NOW, [problem])).toBe('8 waiting, the oldest for 8 min, 1 running');
});
