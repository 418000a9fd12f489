import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DurationSketch } from './duration-sketch.js';

const durations = fc.array(fc.double({ min: 0.01, max: 1e8, noNaN: true }), { minLength: 1, maxLength: 300 });

function sketchOf(values: readonly number[]): DurationSketch {
  const sketch = new DurationSketch();
  for (const value of values) sketch.add(value);
  return sketch;
}

it('has no percentiles without durations', () => {
  expect(new DurationSketch().durations()).toEqual({ p50: null, p95: null, p99: null, max: null });
});

it('returns percentiles with an error of at most 2 %, and the exact maximum', () => {
  fc.assert(
    fc.property(durations, (values) => {
      const sorted = [...values].sort((a, b) => a - b);
      const found = sketchOf(values).durations();
      for (const [share, estimate] of [
        [0.5, found.p50],
        [0.95, found.p95],
        [0.99, found.p99],
      ] as const) {
        const exact = sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
        expect(Math.abs((estimate ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.0201);
      }
      expect(found.max).toBe(sorted.at(-1));
    }),
  );
});

it('merges two sketches into the sketch of all durations', () => {
  fc.assert(
    fc.property(durations, durations, (left, right) => {
      const merged = sketchOf(left);
      merged.merge(sketchOf(right));
      expect(merged.durations()).toEqual(sketchOf([...left, ...right]).durations());
    }),
  );
});

it('accepts a duration of 0', () => {
  expect(sketchOf([0]).durations()).toEqual({ p50: 0, p95: 0, p99: 0, max: 0 });
});
