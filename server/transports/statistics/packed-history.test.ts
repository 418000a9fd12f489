import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { type CountedDurations, type CountedMinute, PeriodHistory } from './period-history.js';

const minuteMs = 60_000;
const first = Math.floor(Date.UTC(2026, 0, 1) / minuteMs);

const count = fc.oneof(fc.nat({ max: 40 }), fc.constant(0), fc.constantFrom(0xffff, 0x1_0000, 10_000_000));
const durations: fc.Arbitrary<CountedDurations> = fc.record({
  buckets: fc.array(fc.tuple(fc.integer({ min: -34, max: 100 }), fc.integer({ min: 1, max: 100_000 })), {
    maxLength: 6,
  }),
  longestMs: fc.oneof(
    fc.constant(-1),
    fc.integer({ min: 0, max: 10 ** 12 }).map((us) => us / 1_000),
  ),
});
const counted: fc.Arbitrary<CountedMinute> = fc.record({
  counts: fc.array(count, { minLength: 5, maxLength: 5 }),
  waits: durations,
  durations,
});
const minutes = fc.array(
  fc.tuple(
    fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 90 }), fc.constantFrom(60, 300, 1_440, 11_000)),
    counted,
  ),
  { minLength: 1, maxLength: 80 },
);

function body(history: PeriodHistory, now: number): unknown {
  const { waitMs, durationMs } = history.totals();
  const rounded = [waitMs, durationMs].map(({ counts, sumMs }) => ({ counts, sumMs: Math.round(sumMs / 100) }));
  return [history.recent(now), history.durations(now), history.histories(now), rounded];
}

it('is the same whether it is stored after each minute or stays in memory', () => {
  fc.assert(
    fc.property(minutes, fc.nat({ max: 3 }), (all, later) => {
      const direct = new PeriodHistory();
      let texts = { minutes: '', latest: '', past: '' };
      let minute = first;
      for (const [gap, each] of all) {
        const hour = Math.floor(minute / 60);
        minute += gap;
        direct.add(minute, each);
        // As a store does, which reads the past only if an hour has ended.
        const { past, ...rest } = texts;
        const stored = PeriodHistory.unpack(Math.floor(minute / 60) === hour ? rest : texts);
        stored.add(minute, each);
        const packed = stored.pack();
        texts = { ...packed, past: packed.past ?? past };
      }
      const now = (minute + later) * minuteMs;
      expect(body(PeriodHistory.unpack(texts), now)).toEqual(body(direct, now));
    }),
    { numRuns: runs(60) },
  );
});

it('counts in the newest minute what a store with a clock that was set back has counted', () => {
  const none = { buckets: [], longestMs: -1 };
  const one = { counts: [1, 0, 0, 0, 0], waits: { buckets: [[3, 1]], longestMs: 2 }, durations: none } as const;
  let texts = { minutes: '', latest: '', past: '' };
  for (const minute of [first + 61, first + 61, first + 2, first + 62, first]) {
    const history = PeriodHistory.unpack(texts);
    history.add(minute, one);
    texts = { ...texts, ...history.pack(), past: '' };
  }
  const history = PeriodHistory.unpack(texts);
  const { minutes: byMinute, fiveMinutes, hours } = history.histories((first + 62) * minuteMs);
  expect(byMinute.received.filter((received) => received > 0)).toEqual([3, 2]);
  for (const { received } of [fiveMinutes, hours]) expect(received.filter((each) => each > 0)).toEqual([5]);
  expect(history.totals().waitMs.counts.reduce((sum, each) => sum + each, 0)).toBe(5);
});

it('is read without an error whatever something else has written', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.string({ unit: fc.constantFrom('_', 'A', 'P', '9'), maxLength: 200 }),
  );
  fc.assert(
    fc.property(text, text, text, counted, (one, latest, past, each) => {
      const history = PeriodHistory.unpack({ minutes: one, latest, past });
      history.add(first, each);
      history.pack();
      expect(history.histories(first * minuteMs).minutes.received).toHaveLength(60);
    }),
  );
});
