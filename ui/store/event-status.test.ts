import { expect, test } from 'vitest';
import type { Counts } from '../../server/dashboard/protocol.js';
import { countsOf, momentAt, SERVER_NOW } from '../testing/test-data.js';
import { ACTIVE_MS, type EventStatus, eventStatus, FAILING_MS } from './event-status.js';

test.each<[EventStatus, string, Counts]>([
  ['never', 'nothing received', countsOf()],
  ['idle', 'received once, long ago', countsOf(5, 1, { lastReceivedAt: 1, lastFailedAt: 1 })],
  ['active', 'received within a minute', countsOf(5, 0, { lastReceivedAt: SERVER_NOW - ACTIVE_MS + 1 })],
  ['idle', 'received a minute ago', countsOf(5, 0, { lastReceivedAt: SERVER_NOW - ACTIVE_MS })],
  ['active', 'a handler runs', countsOf(5, 0, { pending: 1, active: 1 })],
  ['failing', 'failed within 5 minutes', countsOf(5, 1, { lastFailedAt: SERVER_NOW - FAILING_MS + 1 })],
  ['idle', 'failed 5 minutes ago', countsOf(5, 1, { lastFailedAt: SERVER_NOW - FAILING_MS })],
  ['failing', 'failing takes precedence over active', countsOf(5, 1, { active: 1, lastFailedAt: SERVER_NOW })],
])('%s: %s', (expected, _, counts) => {
  expect(eventStatus(counts, Number.NEGATIVE_INFINITY, momentAt(0))).toBe(expected);
});

test.each<[EventStatus, number]>([
  ['active', 0],
  ['active', ACTIVE_MS - 1],
  ['idle', ACTIVE_MS],
])('%s %i ms after a delayed event completed', (expected, passed) => {
  expect(eventStatus(countsOf(6, 0, { lastReceivedAt: 1 }), 1_000, momentAt(1_000 + passed))).toBe(expected);
});
