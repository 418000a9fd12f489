import { expect, test } from 'vitest';
import type { EventOverview, Problem } from '../../server/dashboard/protocol.js';
import { eventColumns } from '../../server/dashboard/routes/event-columns.js';
import { countsOf, eventOf, failingOf, periodOf, recentOf, SERVER_NOW } from '../testing/test-data.js';
import {
  ACTIVE_MS,
  type EventStatus,
  eventStatus,
  type FailureLevel,
  failureLevel,
  problemTypes,
} from './event-row.js';

const backlog: Problem = { kind: 'backlog', severity: 'warning', eventType: 'a' };
const failing: Problem = { kind: 'failing', severity: 'error', eventType: 'a' };
const received = (agoMs: number): EventOverview => eventOf('a', countsOf(5, 0, { lastReceivedAt: SERVER_NOW - agoMs }));

test.each<[EventStatus, string, EventOverview, readonly Problem[]]>([
  ['never', 'nothing received', eventOf('a'), []],
  ['idle', 'received once, long ago', received(ACTIVE_MS), []],
  ['active', 'received within a minute', received(ACTIVE_MS - 1), []],
  ['active', 'a handler runs', eventOf('a', countsOf(5, 0, { pending: 1, active: 1 })), []],
  ['failing', 'failures of the last 5 minutes with open dead letters', failingOf('a', 5, 1), []],
  ['failing', 'failing takes precedence over active', failingOf('a', 5, 1, { lastReceivedAt: SERVER_NOW }), []],
  ['idle', 'all dead letters were replayed', failingOf('a', 5, 1, { deadLetters: 0 }), []],
  [
    'failing',
    'the server lists it, though it retains no dead letters',
    failingOf('a', 5, 1, { deadLetters: 0 }),
    [failing],
  ],
  ['attention', 'dead letters from long ago', eventOf('a', countsOf(5, 1, { deadLetters: 1 })), []],
  ['attention', 'another problem', received(0), [backlog]],
  [
    'attention',
    'cancelled events are no failures',
    eventOf('a', countsOf(5, 1, { cancelled: 1, deadLetters: 1 }), {
      recent: recentOf(periodOf(0, 1, { cancelled: 1 })),
    }),
    [],
  ],
  ['idle', 'a problem of another type', received(ACTIVE_MS), [{ ...backlog, eventType: 'b' }]],
])('%s: %s', (expected, _, event, problems) => {
  expect(eventStatus(eventColumns([event]), 0, problemTypes(problems), SERVER_NOW)).toBe(expected);
});

test.each<[number | null, FailureLevel]>([
  [0.0004, 'low'],
  [0.0099, 'low'],
  [0.01, 'medium'],
  [0.099, 'medium'],
  [0.1, 'high'],
  [1, 'high'],
  [null, 'medium'],
])('a failure rate of %d is %s', (ratio, level) => {
  expect(failureLevel(ratio)).toBe(level);
});
