import fc from 'fast-check';
import { expect, test } from 'vitest';
import { niceCeiling } from './chart-shape.js';

test.each([
  [0, 1],
  [1, 1],
  [7, 8],
  [11, 15],
  [999, 1_000],
  [1_001, 1_500],
  [0.03, 0.03],
])('the scale for %s ends at %s', (max, top) => {
  expect(niceCeiling(max)).toBeCloseTo(top, 10);
});

test('the largest value fits into the chart and fills more than half of it', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (max) => {
      expect(niceCeiling(max)).toBeGreaterThanOrEqual(max);
      expect(max / niceCeiling(max)).toBeGreaterThan(0.5);
    }),
  );
});
