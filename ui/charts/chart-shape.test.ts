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
  expect(shape.past.failures).toContain('v-24');
});

test('slow events are per minute', () => {
  const shape = chartShape(pointsOf([6, 3], [0, 0]), 100, 100);
  expect(shape.unit.name).toBe('minute');
  expect(shape.top).toBe(6);
  const area = 'M0 0L25 0L75 50H100V100H0Z';
  expect(shape.past).toEqual({ line: 'M0 0L25 0L75 50H100', second: '', area, failures: '' });
  expect(shape.current).toEqual({ line: '', second: '', area: '', failures: '' });
});

test('the failure rate is in percent of the ended events, with a gap where none ended', () => {
  const points = pointsOf([60, 0, 60, 60], [6, 0, 3, 0]).map((point) => ({
    ...point,
    completed: point.received - point.failed,
  }));
  const { top, past } = chartShape(points, 400, 100, { mode: 'failures' });
  expect(top).toBe(10);
  expect(past.line).toBe('M0 0H50H100M200 50H250L350 100H400');
  expect(past.area).toBe('');
});

test('latencies are the p95 of running and of waiting, on one scale', () => {
  const points = pointsOf([1, 1], [0, 0]).map((point) => ({ ...point, durationP95Ms: 200, waitP95Ms: 800 }));
  const { top, past } = chartShape(points, 200, 100, { mode: 'latency' });
  expect(top).toBe(800);
  expect(past.line).toBe('M0 75H50L150 75H200');
  expect(past.second).toBe('M0 0H50L150 0H200');
});

test('yesterday has the scale of today', () => {
  const points = pointsOf([60, 60], [0, 0]);
  const yesterday = [undefined, ...pointsOf([120], [0])];
  const { top, yesterday: line, past } = chartShape(points, 200, 100, { yesterday });
  expect(top).toBe(2);
  expect(line).toBe('M100 0H150H200');
  expect(past.line).toBe('M0 50L50 50L150 50H200');
});

test('bars are as wide as their period', () => {
  expect(chartShape(pointsOf([1, 1], [1, 1]), 1_000, 100).past.failures).toContain('h499v');
});

test('the time before the first known point is unknown', () => {
  const shape = chartShape(pointsOf([60], [0], 4), 400, 100);
  expect(shape.unknownUntil).toBe(300);
  expect(shape.past.line).toBe('M300 0L350 0H400');
});

test('the time before the start within a period is unknown, and its rate is that of the rest', () => {
  const history = historyOf(2, MINUTE, { received: [45, 60] });
  // The hub started a quarter into the first of two minutes, which are both over.
  const points = historyPoints(history, SERVER_NOW + MINUTE, SERVER_NOW - 0.75 * MINUTE);
  const { unknownUntil, past } = chartShape(points, 100, 100);
  expect(unknownUntil).toBe(12.5);
  expect(past.line).toBe('M12.5 0L25 0L75 0H100');
  // Lines of durations cover whole periods.
  expect(chartShape(points, 100, 100, { mode: 'latency' }).unknownUntil).toBe(0);
});

test('a failure beside hundreds has a bar that is seen', () => {
  const { past } = chartShape(pointsOf([900, 900], [900, 1]), 100, 100);
  expect(past.failures.match(/v-[\d.]+/g)).toEqual(['v-24', 'v-2']);
});

test('the period that has not ended is a part of its own, at the rate of the time that has passed', () => {
  const history = historyOf(2, MINUTE, { received: [60, 30], failed: [0, 3] });
  const at = (ms: number): readonly Point[] => historyPoints(history, SERVER_NOW + ms, SERVER_NOW - MINUTE);
  const { past, current } = chartShape(at(30_000), 100, 100);
  expect(past.line).toBe('M0 0L25 0H50');
  expect(current.line).toBe('M50 0L75 0H100');
  expect(past.failures).toBe('');
  expect(current.failures).toContain('v-24');
  const early = chartShape(at(5_999), 100, 100);
  expect(early.current.line).toBe('M50 0L75 0H100');
  expect(early.current.failures).toContain('v-24');
  // From a quarter of it on, it has a rate, and a part in the scale.
  const lines = [14_999, 15_000].map((ms) => chartShape(at(ms), 100, 100).current.line);
  expect(lines).toEqual(['M50 0L75 0H100', 'M50 50L75 0H100']);
});

test('a hub that started in the current period has no other part', () => {
  const points = historyPoints(historyOf(2, MINUTE, { received: [0, 30] }), SERVER_NOW + 30_000, SERVER_NOW);
  const { past, current } = chartShape(points, 100, 100);
  expect(past.line).toBe('');
  expect(current.line).toBe('M50 0L75 0H100');
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
