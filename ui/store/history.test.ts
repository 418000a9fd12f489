import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addSample,
  type History,
  increaseOver,
  lastRestart,
  MAX_SAMPLES,
  ratePerSecond,
  recentSlices,
  type Sample,
  sliceHistory,
} from './history.js';

/** Returns a history with samples at these times, in which all events completed. */
function historyOf(...readings: readonly (readonly [at: number, received: number])[]): Sample[] {
  const history: Sample[] = [];
  for (const [at, received] of readings) addSample(history, at, { received, completed: received, failed: 0 }, false);
  return history;
}

describe('rate', () => {
  test.each<[string, History, number | null]>([
    ['no samples', [], null],
    ['the first sample is a baseline', historyOf([0, 9_000]), null],
    ['two samples', historyOf([0, 9_000], [2_000, 9_010]), 5],
    ['two samples too close together', historyOf([0, 9_000], [100, 9_010]), null],
    ['an unchanged response counts as a sample', historyOf([0, 5], [2_000, 5]), 0],
    ['the last 10 seconds', historyOf([0, 0], [20_000, 1_000], [30_000, 1_020]), 2],
    ['a longer poll interval', historyOf([0, 0], [60_000, 600]), 10],
    ['a counter that went down is a new baseline', historyOf([0, 100], [2_000, 3]), null],
    ['the rate after a new baseline', historyOf([0, 100], [2_000, 3], [4_000, 7]), 2],
  ])('%s', (_, history, expected) => {
    expect(ratePerSecond(history)).toBe(expected);
  });
});

test('a restart of the hub is a new baseline even if the counter is higher', () => {
  const after = historyOf([0, 5]);
  addSample(after, 2_000, { received: 8, completed: 8, failed: 0 }, true);
  expect(ratePerSecond(after)).toBeNull();
  expect(increaseOver(after).received).toBe(0);
  expect(lastRestart(after)).toBe(2_000);
});

test('slices spread a long increase evenly and state what they cover', () => {
  const cut = sliceHistory(historyOf([2_500, 10], [12_500, 30]), 12_500, 5_000, 4);
  expect(cut.map(({ at, coveredMs, received }) => [at, coveredMs, received])).toEqual([
    [-5_000, 0, 0],
    [0, 2_500, 5],
    [5_000, 5_000, 10],
    [10_000, 2_500, 5],
  ]);
});

const polls = fc.array(
  fc.record({ gap: fc.integer({ min: 1, max: 90_000 }), received: fc.nat(1_000), hubRestarted: fc.boolean() }),
  { maxLength: 400 },
);

test('any history is bounded, ordered and never negative, and its slices add up to the increase', () => {
  fc.assert(
    fc.property(polls, (steps) => {
      let at = 0;
      const history: Sample[] = [];
      for (const { gap, received, hubRestarted } of steps) {
        at += gap;
        addSample(history, at, { received, completed: received, failed: 0 }, hubRestarted);
      }
      expect(history.length).toBeLessThanOrEqual(MAX_SAMPLES);
      expect(history.every((sample, index) => index === 0 || sample.at > (history[index - 1]?.at ?? 0))).toBe(true);
      expect(ratePerSecond(history) ?? 0).toBeGreaterThanOrEqual(0);
      const cut = sliceHistory(history, at, 1_000, Math.ceil(at / 1_000) + 1);
      const total = cut.reduce((sum, slice) => sum + slice.received, 0);
      expect(total).toBeCloseTo(increaseOver(history).received, 3);
    }),
    { numRuns: 60 },
  );
});

test('dropping samples loses no counts', () => {
  const readings = Array.from({ length: 200 }, (_, second) => [second * 1_000, second * 3] as const);
  const history = historyOf(...readings);
  expect(history.length).toBeLessThan(100);
  expect(increaseOver(history).received).toBe(199 * 3);
});

test.each([
  ['2 seconds', 2_000, 6],
  ['a minute', 60_000, 12],
  ['an hour', 3_600_000, 60],
])('after %s the chart shows the known period, at least 30 seconds', (_, seenMs, count) => {
  expect(recentSlices(historyOf([0, 0], [seenMs, 1]), seenMs)).toHaveLength(count);
});
