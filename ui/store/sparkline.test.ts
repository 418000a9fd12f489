import { expect, test } from 'vitest';
import type { Slice } from './history.js';
import { sparkline } from './sparkline.js';

function sliceOf(received: number, failed = 0, coveredMs = 5_000): Slice {
  return { at: 0, coveredMs, received, completed: received - failed, failed };
}

test('draws from the bottom to the top of its scale', () => {
  expect(sparkline([sliceOf(0), sliceOf(5), sliceOf(10), sliceOf(0)]).line).toBe('M15 22L45 12L75 2L105 22');
});

test('skips slices without data', () => {
  expect(sparkline([sliceOf(0, 0, 0), sliceOf(4), sliceOf(0, 0, 0), sliceOf(4)]).line).toBe('M45 2M105 2');
});

test('compares slices by rate: a partial slice is no dip', () => {
  expect(sparkline([sliceOf(10), sliceOf(2, 0, 1_000)]).line).toBe('M30 2L90 2');
});

test('marks failures, and draws no line without received events', () => {
  expect(sparkline([sliceOf(0), sliceOf(0, 1)])).toEqual({ line: '', failures: 'M90 24v-6' });
});
