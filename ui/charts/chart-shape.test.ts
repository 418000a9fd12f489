import { expect, test } from 'vitest';
import { historyOf, SERVER_NOW } from '../testing/test-data.js';
import { chartShape } from './chart-shape.js';
import { historyPoints, type Point } from './history-points.js';

const MINUTE = 60_000;

/** Returns the points of a history that ends with these minutes, all of them over. */
function pointsOf(received: readonly number[], failed: readonly number[], count = received.length): readonly Point[] {
  const history = historyOf(count, MINUTE, { received, failed });
  return historyPoints(history, SERVER_NOW + MINUTE, SERVER_NOW + MINUTE);
}

test('failures have a scale of their own, so that a few show beside thousands', () => {
  const shape = chartShape(pointsOf([2_400, 2_400], [0, 18]), 100, 100);
  expect(shape.unit.name).toBe('second');
  expect(shape.top).toBe(40);
  expect(shape.failedTop).toBeCloseTo(0.3);
  expect(shape.failures).toContain('v-24');
});

test('slow events are per minute', () => {
  const shape = chartShape(pointsOf([6, 3], [0, 0]), 100, 100);
  expect(shape.unit.name).toBe('minute');
  expect(shape.top).toBe(6);
  expect(shape.line).toBe('M0 0L25 0L75 50L100 50');
  expect(shape.failures).toBe('');
});

test('bars are at most 12 px wide', () => {
  expect(chartShape(pointsOf([1, 1], [1, 1]), 1_000, 100).failures).toContain('h12v');
});

test('the time before the first known point is unknown', () => {
  const shape = chartShape(pointsOf([60], [0], 4), 400, 100);
  expect(shape.unknownUntil).toBe(300);
  expect(shape.line).toBe('M300 0L350 0L400 0');
});

test('without any known point all is unknown', () => {
  const points = historyPoints(historyOf(3, MINUTE), SERVER_NOW, SERVER_NOW + MINUTE);
  expect(
    chartShape(
      [...points].slice(0, 2).map((point) => ({ ...point, coveredMs: 0 })),
      100,
      100,
    ).unknownUntil,
  ).toBe(100);
});
