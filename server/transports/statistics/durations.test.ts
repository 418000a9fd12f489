import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DurationSketch, durationBucket, durationOfBucket } from './durations.js';

const durations = fc.array(fc.double({ min: 1, max: 2_000, noNaN: true }), { minLength: 1, maxLength: 300 });

function sketchOf(values: readonly number[]): DurationSketch {
  const sketch = new DurationSketch();
  for (const value of values) sketch.addBucket(durationBucket(value), 1);
  return sketch;
}

it('has no percentiles without durations', () => {
  expect(new DurationSketch().durations()).toEqual({ p50: null, p95: null, p99: null, max: null });
});

it('returns percentiles with an error of at most 10 %', () => {
  fc.assert(
    fc.property(durations, (values) => {
      const sorted = [...values].sort((a, b) => a - b);
      const found = sketchOf(values).durations();
      for (const [share, estimate] of [
        [0.5, found.p50],
        [0.95, found.p95],
        [0.99, found.p99],
        [1, found.max],
      ] as const) {
        const exact = sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
        expect(Math.abs((estimate ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.105);
      }
    }),
  );
});

it('keeps the high percentiles of durations that differ by more than its buckets span', () => {
  const { p50, p95, max } = sketchOf([...Array.from({ length: 99 }, () => 0.01), 1e8]).durations();
  expect(p50).toBeLessThan(1e6);
  expect(p95).toBeLessThan(1e6);
  expect(Math.abs((max ?? 0) - 1e8)).toBeLessThanOrEqual(1e7);
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

it('returns a percentile of two sketches as their merged sketch does', () => {
  const spread = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 20 });
  fc.assert(
    fc.property(spread, spread, fc.double({ min: 0, max: 1, noNaN: true }), (left, right, share) => {
      const merged = sketchOf([...left, ...right]).percentile(share);
      expect(sketchOf(left).percentileWith(sketchOf(right), share)).toBe(merged);
      expect(sketchOf([...left, ...right]).percentileWith(undefined, share)).toBe(merged);
    }),
  );
});

it('is not changed by changes of its copy', () => {
  const sketch = sketchOf([1, 100]);
  const copy = sketch.copy();
  copy.addBucket(durationBucket(1e5), 10);
  copy.clear();
  expect(sketch.toJSON()).toEqual(sketchOf([1, 100]).toJSON());
});

it('accepts a duration of 0', () => {
  expect(sketchOf([0]).durations()).toEqual({ p50: 0, p95: 0, p99: 0, max: 0 });
});

it('counts what is shorter than its 40 buckets in the lowest one', () => {
  const sketch = sketchOf([1e6, ...Array.from({ length: 99 }, () => 0.001)]);
  expect(sketch.percentile(1)).toBe(durationOfBucket(durationBucket(1e6)));
  const lowest = durationOfBucket(durationBucket(1e6) - 39);
  expect(sketch.percentile(0)).toBe(lowest);
  expect(sketch.percentile(0.95)).toBe(lowest);
});
