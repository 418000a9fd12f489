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

/** Stores what has changed, and deletes the hours that are no longer retained. */
function store(history: PeriodHistory, parts: Map<string, string>): void {
  history.closeMinute();
  const changes = history.pack();
  for (const [name, text] of changes.parts) parts.set(name, text);
  for (const name of parts.keys()) if (Number(name) < (changes.firstHour ?? 0)) parts.delete(name);
}

it('is the same whether it is stored after each minute or stays in memory', () => {
  fc.assert(
    fc.property(minutes, fc.nat({ max: 3 }), (all, later) => {
      const direct = new PeriodHistory();
      const parts = new Map<string, string>();
      let minute = first;
      for (const [gap, each] of all) {
        const hour = Math.floor(minute / 60);
        minute += gap;
        direct.add(minute, each);
        // As a store does, which reads the hours only if one has ended, and the periods of 5 minutes before never.
        const names = Math.floor(minute / 60) === hour ? ['minutes', 'latest'] : ['minutes', 'latest', 'hours'];
        const stored = new PeriodHistory().restore(names.map((name) => [name, parts.get(name) ?? '']));
        stored.add(minute, each);
        store(stored, parts);
      }
      const now = (minute + later) * minuteMs;
      expect(body(new PeriodHistory().restore(parts), now)).toEqual(body(direct, now));
      expect(parts.size).toBeLessThanOrEqual(3 + 49);
    }),
    { numRuns: runs(60) },
  );
});

it('retains the durations of the last 5 minutes if the current one is stored before it ends', () => {
  const history = new PeriodHistory();
  const none = { buckets: [], longestMs: -1 };
  for (const [minute, longestMs] of [
    [first, 9],
    [first + 5, 2],
  ] as const) {
    history.add(minute, { counts: [1], waits: none, durations: { buckets: [[longestMs, 1]], longestMs } });
    store(history, new Map());
  }
  expect(history.durations((first + 5) * minuteMs).durationMs.last5Min.max).toBe(9);
});

it('counts in the newest minute what a store with a clock that was set back has counted', () => {
  const none = { buckets: [], longestMs: -1 };
  const one = { counts: [1, 0, 0, 0, 0], waits: { buckets: [[3, 1]], longestMs: 2 }, durations: none } as const;
  const parts = new Map<string, string>();
  for (const minute of [first + 61, first + 61, first + 2, first + 62, first]) {
    const history = new PeriodHistory().restore(parts);
    history.add(minute, one);
    store(history, parts);
  }
  const history = new PeriodHistory().restore(parts);
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
      const hour = String(first / 60 - 1);
      const history = new PeriodHistory().restore([
        ['minutes', one],
        ['latest', latest],
        ['hours', past],
        [hour, past],
      ]);
      history.add(first, each);
      history.closeMinute();
      history.pack();
      expect(history.histories(first * minuteMs).minutes.received).toHaveLength(60);
    }),
  );
});
