import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addSample,
  counted,
  type History,
  lastRestart,
  MAX_SAMPLES,
  ratePerSecond,
  type Sample,
  seenSlices,
  slices,
} from './history.js';

/** A history of counters that were read at these times, all events completed. */
function historyOf(...readings: readonly (readonly [at: number, received: number])[]): Sample[] {
  const history: Sample[] = [];
  for (const [at, received] of readings) addSample(history, at, { received, completed: received, failed: 0 }, false);
  return history;
}

describe('rate', () => {
  test.each<[string, History, number | null]>([
    ['nothing read', [], null],
    ['the first sample is a baseline', historyOf([0, 9_000]), null],
    ['two samples', historyOf([0, 9_000], [2_000, 9_010]), 5],
    ['two samples in a moment', historyOf([0, 9_000], [100, 9_010]), null],
    ['an unchanged answer counts as a sample', historyOf([0, 5], [2_000, 5]), 0],
    ['the last 10 seconds', historyOf([0, 0], [20_000, 1_000], [30_000, 1_020]), 2],
    ['a step longer than that', historyOf([0, 0], [60_000, 600]), 10],
    ['a counter that went down is a new baseline', historyOf([0, 100], [2_000, 3]), null],
    ['and counts from there', historyOf([0, 100], [2_000, 3], [4_000, 7]), 2],
  ])('%s', (_, history, expected) => {
    expect(ratePerSecond(history)).toBe(expected);
  });
});

test('a restarted hub is a new baseline though its counter is higher', () => {
  const after = historyOf([0, 5]);
  addSample(after, 2_000, { received: 8, completed: 8, failed: 0 }, true);
  expect(ratePerSecond(after)).toBeNull();
  expect(counted(after).received).toBe(0);
  expect(lastRestart(after)).toBe(2_000);
});

test('slices spread a long step evenly and know what they cover', () => {
  const cut = slices(historyOf([2_500, 10], [12_500, 30]), 12_500, 5_000, 4);
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

test('whatever is polled: bounded, in order, never negative, and slices add up to the increase', () => {
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
      const cut = slices(history, at, 1_000, Math.ceil(at / 1_000) + 1);
      const total = cut.reduce((sum, slice) => sum + slice.received, 0);
      expect(total).toBeCloseTo(counted(history).received, 3);
    }),
    { numRuns: 60 },
  );
});

test('thinning loses no count', () => {
  const readings = Array.from({ length: 200 }, (_, second) => [second * 1_000, second * 3] as const);
  const history = historyOf(...readings);
  expect(history.length).toBeLessThan(100);
  expect(counted(history).received).toBe(199 * 3);
});

test.each([
  ['a moment', 2_000, 6],
  ['a minute', 60_000, 12],
  ['an hour', 3_600_000, 60],
])('after %s it shows what was seen, and no less than half a minute', (_, seenMs, count) => {
  expect(seenSlices(historyOf([0, 0], [seenMs, 1]), seenMs)).toHaveLength(count);
});
