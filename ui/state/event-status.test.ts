import { expect, test } from 'vitest';
import type { Counts } from '../../server/dashboard/protocol.js';
import { countsOf, SERVER_NOW } from '../testing/answers.js';
import { ACTIVE_MS, type EventStatus, eventStatus, FAILING_MS } from './event-status.js';
import { extendHistory, type History } from './history.js';

const still: History = [];

/** Two samples: `before` at 0 and `after` at `gap` milliseconds, and a last one at `now` that brought nothing. */
function rise(before: Counts, after: Counts, now: number): History {
  const first = extendHistory(extendHistory([], 0, before, false), 1_000, after, false);
  return extendHistory(first, now, after, false);
}

const failedNow = rise(countsOf(5), countsOf(5, 1), 2_000);
const completedNow = rise(countsOf(5), countsOf(6), 2_000);
const completedBefore = rise(countsOf(5), countsOf(6), 1_000 + ACTIVE_MS);

test.each<[EventStatus, string, Counts, History]>([
  ['never', 'nothing received', countsOf(), still],
  ['idle', 'received once, long ago', countsOf(5, 1, { lastReceivedAt: 1, lastFailedAt: 1 }), still],
  ['active', 'received within a minute', countsOf(5, 0, { lastReceivedAt: SERVER_NOW - ACTIVE_MS + 1 }), still],
  ['idle', 'received a minute ago', countsOf(5, 0, { lastReceivedAt: SERVER_NOW - ACTIVE_MS }), still],
  ['active', 'a handler runs', countsOf(5, 0, { pending: 1, active: 1 }), still],
  ['active', 'a delayed event completed', countsOf(6, 0, { lastReceivedAt: 1 }), completedNow],
  ['idle', 'a delayed event completed a minute ago', countsOf(6, 0, { lastReceivedAt: 1 }), completedBefore],
  ['failing', 'failed within 5 minutes', countsOf(5, 1, { lastFailedAt: SERVER_NOW - FAILING_MS + 1 }), still],
  ['idle', 'failed 5 minutes ago', countsOf(5, 1, { lastFailedAt: SERVER_NOW - FAILING_MS }), still],
  ['failing', 'failures rose in the samples', countsOf(5, 1), failedNow],
  ['failing', 'failing goes before active', countsOf(5, 1, { active: 1, lastFailedAt: SERVER_NOW }), still],
])('%s: %s', (expected, _, counts, history) => {
  expect(eventStatus(counts, history, SERVER_NOW)).toBe(expected);
});
