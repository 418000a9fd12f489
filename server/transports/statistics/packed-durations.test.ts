import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DurationSketch, durationOfBucket } from './durations.js';
import { PackedDurations } from './packed-periods.js';

const counts = fc.array(
  fc.record({
    bucket: fc.integer({ min: -34, max: 3_600 }),
    count: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 2 ** 40 })),
  }),
  { maxLength: 50 },
);

function sketchOf(all: readonly { readonly bucket: number; readonly count: number }[]): DurationSketch {
  const sketch = new DurationSketch();
  for (const { bucket, count } of all) {
    sketch.addBucket(bucket, count);
    // Exact to a microsecond, up to a century.
    if (bucket < 150) sketch.noteLongest(Math.round(durationOfBucket(bucket) * 1_000) / 1_000);
  }
  return sketch;
}

it('adds the waiting times and durations of its period', () => {
  fc.assert(
    fc.property(counts, counts, counts, (waits, durations, earlier) => {
      const packed = PackedDurations.of(sketchOf(waits), sketchOf(durations));
      const [waitSum, durationSum] = [sketchOf(earlier), sketchOf(earlier)];
      packed.addTo(waitSum, durationSum);
      for (const [sum, all] of [
        [waitSum, waits],
        [durationSum, durations],
      ] as const) {
        const expected = sketchOf(earlier);
        expected.merge(sketchOf(all));
        expect(sum.toJSON()).toEqual(expected.toJSON());
        expect(sum.durations()).toEqual(expected.durations());
      }
    }),
  );
});
