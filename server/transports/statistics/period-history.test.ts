import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { Broker } from '../broker/broker.js';
import { systemClock } from '../clock.js';
import { durationOfBucket } from './durations.js';
import { NumberReader } from './packed-periods.js';
import { PeriodHistory } from './period-history.js';
import { periodKinds, RecentMinutes, rangePeriods } from './periods.js';
import { periodCounters, type RecentActivity } from './stats.js';

const minute = 60_000;
const start = Date.UTC(2026, 0, 1);

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

it('loses nothing at the borders of minutes, 5 minutes, hours and days', () => {
  const gaps = fc.array(
    fc.oneof(
      fc.integer({ min: 0, max: 5 * minute }),
      fc.constantFrom(minute, 5 * minute, 60 * minute, 24 * 60 * minute),
    ),
    { minLength: 1, maxLength: 60 },
  );
  fc.assert(
    fc.property(gaps, fc.integer({ min: 0, max: minute }), (steps, offset) => {
      const total = new PeriodHistory();
      const history = new PeriodHistory(total);
      const times: number[] = [];
      let now = start + offset;
      for (const step of steps) {
        now += step;
        times.push(now);
        history.count('received', now);
      }
      for (const { recent, histories } of [history, total].map((each) => ({
        recent: each.recent(now),
        histories: each.histories(now),
      }))) {
        for (const name of ['minutes', 'fiveMinutes', 'hours'] as const) {
          const { startAt, stepMs, received } = histories[name];
          const expected = received.map(
            (_, index) => times.filter((at) => Math.floor((at - startAt) / stepMs) === index).length,
          );
          expect(received).toEqual(expected);
        }
        const firstMinute = (Math.floor(now / minute) - 5) * minute;
        expect(recent.last5Min.received).toBe(times.filter((at) => at >= firstMinute).length);
      }
    }),
    { numRuns: runs(30) },
  );
});

it('retains percentiles of periods that are over', () => {
  const history = new PeriodHistory();
  history.countWait(100, start);
  history.countDuration(1_000, start);
  const later = start + 61 * minute;
  history.count('received', later);
  const { hours, fiveMinutes } = history.histories(later);
  for (const { waitP95Ms, durationP95Ms } of [hours, fiveMinutes]) {
    const [wait] = waitP95Ms.filter((ms) => ms !== null);
    const [duration] = durationP95Ms.filter((ms) => ms !== null);
    expect(Math.abs((wait ?? 0) - 100)).toBeLessThanOrEqual(10.5);
    expect(Math.abs((duration ?? 0) - 1_000)).toBeLessThanOrEqual(105);
  }
  expect(history.recent(later)).toMatchObject({ waitP95Ms: null, durationP95Ms: null });
  expect(history.durations(later).durationMs.lastHour.max).not.toBeNull();
  expect(history.durations(later + 10 * minute).durationMs.lastHour.max).toBeNull();
});

it('has 60 minutes, 588 periods of 5 minutes and 168 hours', () => {
  const { minutes, fiveMinutes, hours } = new PeriodHistory().histories(start);
  expect([minutes, fiveMinutes, hours].map(({ stepMs, received }) => [stepMs, received.length])).toEqual([
    [minute, 60],
    [5 * minute, 588],
    [60 * minute, 168],
  ]);
});

it('has durations of the current minute and the five before', () => {
  for (const [minutes, isIn] of [
    [5, true],
    [6, false],
  ] as const) {
    const history = new PeriodHistory();
    history.countDuration(1_000, start);
    // Closes the minute of the duration.
    history.count('received', start + minutes * minute);
    expect([minutes, history.durations(start + minutes * minute).durationMs.last5Min.max !== null]).toEqual([
      minutes,
      isIn,
    ]);
    expect(history.recent(start + minutes * minute).durationP95Ms !== null).toBe(isIn);
  }
});

it('has durations of the hour in the periods of 5 minutes that are over', () => {
  const history = new PeriodHistory();
  history.countDuration(1_000, start);
  for (let at = start + minute; at <= start + 64 * minute; at += minute) history.countDuration(10, at);
  const maxAt = (minutes: number): number => history.durations(start + minutes * minute).durationMs.lastHour.max ?? 0;
  expect(Math.abs(maxAt(64) - 1_000)).toBeLessThanOrEqual(105);
  expect(maxAt(65)).toBeLessThan(20);
});

it('counts in the latest minute after the clock was set back', () => {
  const history = new PeriodHistory();
  history.count('failed', start + minute);
  history.count('failed', start);
  expect(sum(history.histories(start + minute).minutes.failed)).toBe(2);
});

it('reads for a poll the last hour at most, once a minute, and for a range the hours that it covers', () => {
  const history = new PeriodHistory();
  const end = start + 7 * 24 * 60 * minute;
  for (let at = start; at < end; at += minute) history.count('received', at);
  const next = vi.spyOn(NumberReader.prototype, 'next');
  onTestFinished(() => next.mockRestore());
  const numbersOf = (read: () => unknown): number => {
    next.mockClear();
    read();
    return next.mock.calls.length;
  };
  const range = (from: number, to: number) => (): void => {
    const periods = rangePeriods(from, to, end - 1);
    expect(history.range(periods).received).toBe((periods.to - periods.from + 1) * (periods.kind.stepMs / minute));
  };
  const [perPeriod, hour] = [3, 60 * minute];
  // A poll looks at 20 minutes; the newest ones have durations.
  expect(numbersOf(() => history.recent(end - 1))).toBeLessThan(60 * perPeriod);
  history.count('retried', end - 1);
  expect(numbersOf(() => history.recent(end - 1))).toBe(0);
  const latest = 13 * perPeriod + 13 * 2;
  expect(numbersOf(range(end - 30 * hour, end - 29 * hour))).toBeLessThanOrEqual(2 * 13 * perPeriod + latest);
  expect(numbersOf(range(end - hour / 2, end))).toBeLessThanOrEqual(61 * perPeriod + 12);
  expect(numbersOf(range(end - 100 * hour, end))).toBeLessThanOrEqual(168 * perPeriod);
  expect(numbersOf(() => history.histories(end - 1))).toBeGreaterThan(700 * perPeriod);
});

it('drops what is older than a week', () => {
  const history = new PeriodHistory();
  history.count('received', start);
  const { length, stepMs } = periodKinds.hours;
  expect(sum(history.histories(start + (length - 1) * stepMs).hours.received)).toBe(1);
  expect(sum(history.histories(start + length * stepMs).hours.received)).toBe(0);
});

it('returns the same recent activity, whether or not it was read before', () => {
  const action = fc.record({
    what: fc.constantFrom('received', 'completed', 'failed', 'cancelled', 'retried', 'wait', 'duration', 'nothing'),
    times: fc.integer({ min: 0, max: 3 }),
    ms: fc.constantFrom(0, 0.5, 40, 3_000, 500_000_000),
    advance: fc.constantFrom(0, 0, 1, minute / 2, minute, 4 * minute, 21 * minute, -minute),
    reads: fc.boolean(),
  });
  const restored = fc.array(fc.nat({ max: 30 }), { maxLength: 3 });
  const none = { buckets: [], longestMs: -1 };
  fc.assert(
    fc.property(restored, fc.array(action, { maxLength: 60 }), (minutesAgo, actions) => {
      const [often, once] = [new PeriodHistory(), new PeriodHistory()];
      const sums = new Map<number, RecentMinutes>();
      const bodies: (readonly [RecentActivity, string])[] = [];
      const read = (now: number): RecentActivity => {
        const current = Math.floor(now / minute);
        const ofMinute = sums.get(current) ?? new RecentMinutes(current);
        sums.set(current, ofMinute);
        const activity = often.recent(now, ofMinute);
        bodies.push([activity, JSON.stringify(activity)]);
        return activity;
      };
      for (const ago of [...new Set(minutesAgo)].sort((a, b) => b - a)) {
        for (const history of [often, once]) {
          history.add(start / minute - ago, { counts: [ago, 1, 0, 0, 0], waits: none, durations: none });
        }
        read(start);
      }
      let now = start;
      for (const { what, times, ms, advance, reads } of actions) {
        now += advance;
        for (const history of [often, once]) {
          for (let time = 0; time < times; time += 1) {
            if (what === 'wait') history.countWait(ms, now);
            else if (what === 'duration') history.countDuration(ms, now);
            else if (what !== 'nothing') history.count(what, now);
          }
        }
        if (reads) expect(read(now)).toBe(read(now));
      }
      expect(read(now)).toEqual(once.recent(now));
      for (const [activity, text] of bodies) expect(JSON.stringify(activity)).toBe(text);
    }),
  );
});

/** Returns the bytes of the heap that are in use. */
function usedHeap(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  collectGarbage();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
}

it.each([
  // The longest durations are 4 times the shortest.
  { what: 'similar durations', counters: ['received'], durations: [10, 12, 15, 18, 22, 27, 33, 40] },
  {
    what: 'durations over three decades, retries and cancellations',
    counters: periodCounters,
    durations: Array.from({ length: 36 }, (_, index) => durationOfBucket(index)),
  },
] as const)('takes at most 30 kB for a week of a busy type with $what', ({ counters, durations }) => {
  const histories = Array.from({ length: 50 }, () => new PeriodHistory());
  const end = start + 7 * 24 * 60 * minute;
  const before = usedHeap();
  for (const history of histories) {
    for (let at = start; at < end; at += 5 * minute) for (const counter of counters) history.count(counter, at);
    // Only the last hour has more than a percentile.
    for (let at = end; at < end + 70 * minute; at += minute) {
      for (const ms of durations) {
        history.countWait(ms, at);
        history.countDuration(10 * ms, at);
      }
    }
    history.recent(end + 69 * minute);
  }
  const bytes = (usedHeap() - before) / histories.length;
  expect(histories[0]?.durations(end + 70 * minute).durationMs.lastHour.p50).toBeGreaterThan(100);
  expect(bytes).toBeLessThanOrEqual(30_000);
});

it('retains a bounded number of periods', () => {
  const broker = new Broker(systemClock, {
    maxPending: 1,
    maxPendingBytes: 1,
    maxDeadLetters: 1,
    maxDeadLetterAgeMs: Number.POSITIVE_INFINITY,
  });
  const history = broker.statistics.history('ordered');
  const heapAfter = (minutes: number): number => {
    for (let at = start; at < start + minutes * minute; at += minute) history.countWait(1, at);
    return usedHeap();
  };
  const before = heapAfter(1_000);
  expect(heapAfter(50_000) - before).toBeLessThan(5_000_000);
});
