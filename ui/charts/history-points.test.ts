import { expect, test } from 'vitest';
import { historiesOf, historyOf, SERVER_NOW } from '../testing/test-data.js';
import {
  countedSince,
  dayBefore,
  historyOfRange,
  historyPoints,
  type Point,
  perSecond,
  rangeToShow,
  zoomedPoints,
} from './history-points.js';

const MINUTE = 60_000;
const now = SERVER_NOW + 15_000;

test('the shortest range has the current minute and the five before it', () => {
  const history = historyOfRange(historiesOf({ received: [1, 2, 3, 4, 5, 6, 7] }), '5m');
  expect(history.received).toEqual([2, 3, 4, 5, 6, 7]);
  expect(history.startAt).toBe(SERVER_NOW - 5 * MINUTE);
});

test('the other ranges have as many periods as they last', () => {
  const histories = historiesOf();
  expect([
    historyOfRange(histories, '1h').received.length,
    historyOfRange(histories, '24h').received.length,
    historyOfRange(histories, '7d').received.length,
  ]).toEqual([60, 288, 168]);
});

test('a point covers the time since the start and up to now', () => {
  const points = historyPoints(historyOf(4, MINUTE), now, SERVER_NOW - 90_000);
  expect(points.map(({ coveredMs }) => coveredMs)).toEqual([0, 30_000, MINUTE, 15_000]);
  expect(points.map(({ isCurrent }) => isCurrent)).toEqual([false, false, false, true]);
});

test('what was counted hours before the start of this process is counted since', () => {
  const hours = historyOf(168, 60 * MINUTE, { received: [1, 0, 0, 0] });
  const since = countedSince({ ...historiesOf(), hours }, SERVER_NOW);
  expect(since).toBe(hours.startAt + 165 * hours.stepMs);
  // Of an hour without events.
  expect(historyPoints(historyOf(60, MINUTE), now, since).every(({ coveredMs }) => coveredMs > 0)).toBe(true);
  expect(countedSince(historiesOf(), SERVER_NOW)).toBe(SERVER_NOW);
  const current = historyOf(168, 60 * MINUTE, { received: [9] });
  expect(countedSince({ ...historiesOf(), hours: current }, SERVER_NOW)).toBe(SERVER_NOW);
});

test('counts from before the start of this process are known', () => {
  const points = historyPoints(historyOf(4, MINUTE, { received: [9, 0, 0] }), now, SERVER_NOW);
  expect(points.map(({ coveredMs }) => coveredMs)).toEqual([0, MINUTE, MINUTE, 15_000]);
});

test('the period in which the hub started is covered from the start on, with events too', () => {
  const history = historyOf(3, MINUTE, { received: [30, 30] });
  const points = historyPoints(history, now, SERVER_NOW - 20_000);
  expect(points.map(({ coveredMs }) => coveredMs)).toEqual([0, 20_000, 15_000]);
});

test('a rate is that of the covered time', () => {
  const points = historyPoints(historyOf(2, MINUTE, { received: [60, 60] }), now, null);
  expect(points.map((point) => perSecond(point.received, point))).toEqual([1, 4]);
});

test.each<[string, number, number, number | null, number]>([
  ['the minutes of the last hour', 59, 20, MINUTE, 39],
  ['5 minutes of the last day', 120, 60, 5 * MINUTE, 12],
  ['5 minutes of the day before', 60 * 48, 60 * 47, 5 * MINUTE, 12],
  ['hours of the last week', 60 * 72, 60 * 48, 60 * MINUTE, 24],
  ['nothing if the periods are too few', 60 * 72, 60 * 70, null, 0],
  ['nothing if it is older', 60 * 24 * 9, 60 * 24 * 8, null, 0],
])('a selection is shown with %s', (_, fromMinutes, toMinutes, stepMs, count) => {
  const histories = historiesOf();
  const from = histories.minutes.startAt + (59 - fromMinutes) * MINUTE;
  const to = histories.minutes.startAt + (59 - toMinutes) * MINUTE;
  const points = zoomedPoints(histories, { from, to }, now, null);
  const step = points?.[0] && points[0].endAt - points[0].at;
  expect(step ?? null).toBe(stepMs);
  expect(Math.abs((points?.length ?? 0) - count)).toBeLessThanOrEqual(1);
  expect(points?.every(({ at, endAt }) => endAt > from && at < to) ?? true).toBe(true);
});

test('the day before of a minute is the 5 minutes that contain it, of 5 minutes the same ones', () => {
  const counts = Array.from({ length: 588 }, (_, index) => index + 1);
  const histories = { ...historiesOf(), fiveMinutes: historyOf(588, 5 * MINUTE, { received: counts }) };
  const day = historyPoints(historyOfRange(histories, '24h'), now, null);
  expect(dayBefore(day, histories, now, null).map((point) => point?.received)).toEqual(counts.slice(12, 300));
  const minutes = historyPoints(historyOf(1, MINUTE), now, null);
  const before = dayBefore(minutes, histories, now, null);
  expect(before.map((point) => point?.received)).toEqual([counts[299]]);
  const hours: readonly Point[] = minutes.map((point) => ({ ...point, endAt: point.at + 60 * MINUTE }));
  expect(dayBefore(hours, histories, now, null)).toEqual([undefined]);
});

test('until the reader chooses, a young hub shows 5 minutes', () => {
  const young = historiesOf({ received: [1, 1] });
  expect(rangeToShow('auto', young, now, SERVER_NOW - MINUTE)).toBe('5m');
  expect(rangeToShow('1h', young, now, SERVER_NOW - MINUTE)).toBe('1h');
  const old = historiesOf({ received: Array.from({ length: 60 }, () => 1) });
  expect(rangeToShow('auto', old, now, SERVER_NOW - 60 * MINUTE)).toBe('1h');
});
