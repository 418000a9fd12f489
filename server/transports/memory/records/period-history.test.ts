import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { systemClock } from '../../clock.js';
import { periodKinds } from '../../statistics/periods.js';
import { Broker } from '../broker.js';
import { PeriodHistory } from './period-history.js';

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
    { numRuns: 30 },
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
  expect(history.durations(later).lastHour.max).not.toBeNull();
  expect(history.durations(later + 10 * minute).lastHour.max).toBeNull();
});

it('counts in the latest minute after the clock was set back', () => {
  const history = new PeriodHistory();
  history.count('failed', start + minute);
  history.count('failed', start);
  expect(sum(history.histories(start + minute).minutes.failed)).toBe(2);
});

it('drops what is older than a week', () => {
  const history = new PeriodHistory();
  history.count('received', start);
  const { length, stepMs } = periodKinds.hours;
  expect(sum(history.histories(start + (length - 1) * stepMs).hours.received)).toBe(1);
  expect(sum(history.histories(start + length * stepMs).hours.received)).toBe(0);
});

it('retains a bounded number of periods', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const broker = new Broker(systemClock, {
    maxPending: 1,
    maxPendingBytes: 1,
    maxDeadLetters: 1,
    maxDeadLetterAgeMs: Number.POSITIVE_INFINITY,
  });
  const history = broker.history('ordered');
  const heapAfter = (minutes: number): number => {
    for (let at = start; at < start + minutes * minute; at += minute) history.countWait(1, at);
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heapAfter(1_000);
  expect(heapAfter(50_000) - before).toBeLessThan(5_000_000);
});
