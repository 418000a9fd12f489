import { expect, test } from 'vitest';
import type { Counts } from '../../server/dashboard/protocol.js';
import { countsOf, momentAt, SERVER_NOW } from '../testing/answers.js';
import { ACTIVE_MS, createLastSeen, type EventStatus, eventStatus, FAILING_MS } from './event-status.js';

const nothing = { received: 0, completed: 0, failed: 0 };

test.each<[EventStatus, string, Counts]>([
  ['never', 'nothing received', countsOf()],
  ['idle', 'received once, long ago', countsOf(5, 1, { lastReceivedAt: 1, lastFailedAt: 1 })],
  ['active', 'received within a minute', countsOf(5, 0, { lastReceivedAt: SERVER_NOW - ACTIVE_MS + 1 })],
  ['idle', 'received a minute ago', countsOf(5, 0, { lastReceivedAt: SERVER_NOW - ACTIVE_MS })],
  ['active', 'a handler runs', countsOf(5, 0, { pending: 1, active: 1 })],
  ['failing', 'failed within 5 minutes', countsOf(5, 1, { lastFailedAt: SERVER_NOW - FAILING_MS + 1 })],
  ['idle', 'failed 5 minutes ago', countsOf(5, 1, { lastFailedAt: SERVER_NOW - FAILING_MS })],
  ['failing', 'failing goes before active', countsOf(5, 1, { active: 1, lastFailedAt: SERVER_NOW })],
])('%s: %s', (expected, _, counts) => {
  expect(eventStatus(counts, createLastSeen(), momentAt(0))).toBe(expected);
});

test.each<[EventStatus, string, Partial<typeof nothing>, number]>([
  ['active', 'a delayed event completed', { completed: 1 }, 0],
  ['active', 'and is so for a minute', { completed: 1 }, ACTIVE_MS - 1],
  ['idle', 'no longer', { completed: 1 }, ACTIVE_MS],
  ['failing', 'failures rose', { failed: 1 }, 0],
  ['failing', 'and for 5 minutes', { failed: 1 }, FAILING_MS - 1],
  ['idle', 'no longer than that', { failed: 1 }, FAILING_MS],
])('%s from what the page saw: %s', (expected, _, counted, passed) => {
  const seen = createLastSeen();
  seen.note({ ...nothing, ...counted }, 1_000);
  seen.note(nothing, 2_000);
  expect(eventStatus(countsOf(5, 1), seen, momentAt(1_000 + passed))).toBe(expected);
});
