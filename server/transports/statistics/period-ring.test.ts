import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PeriodRing, readCounts } from './period-series.js';
import { noCounts, type PeriodRecord, RecentMinutes } from './periods.js';

const length = 7;

it('returns its last periods and nothing else', () => {
  const count = fc.oneof(fc.constant(0), fc.nat({ max: 3 }), fc.constantFrom(0xffff, 0x1_0000, 0xffff_ffff));
  const periods = fc.array(
    fc.record({
      gap: fc.integer({ min: 1, max: 2 * length }),
      counts: fc.array(count, { minLength: 5, maxLength: 5 }),
      bucket: fc.option(fc.integer({ min: -34, max: 127 }), { nil: undefined }),
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(periods, (all) => {
      const ring = new PeriodRing({ stepMs: 1, length });
      const expected = new Map<number, PeriodRecord>();
      let period = 20;
      for (const { gap, counts, bucket } of all) {
        period += gap;
        ring.add({ period, counts, waitBucket: undefined, durationBucket: bucket });
        expected.set(period, { counts: readCounts(counts), waitBucket: undefined, durationBucket: bucket });
      }
      for (let each = 0; each <= period + 2 * length; each += 1) {
        const record = each > period - length ? expected.get(each) : undefined;
        const none = { counts: noCounts, waitBucket: undefined, durationBucket: undefined };
        expect(ring.get(each) ?? none).toEqual(record ?? none);
      }
      const sums = new RecentMinutes(period);
      ring.addCountsTo(sums);
      const received = Array.from({ length: 20 }, (_, index) => {
        const each = period - 19 + index;
        return each > period - length ? (expected.get(each)?.counts.received ?? 0) : 0;
      });
      expect(sums.take().minutes.received).toEqual(received);
    }),
  );
});
