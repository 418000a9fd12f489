import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { cronDueTimes } from './due-times.js';
import { UpcomingDueTimes } from './schedule-introspection.js';

const start = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;

it('returns what each expression says, at instants in any order', () => {
  const expressions = ['*/5 * * * *', '30 2 * * *', '0 0 29 2 *', '0 0 * 2 1#5'];
  const zones = ['UTC', 'Europe/Oslo'];
  const question = fc.record({
    cron: fc.constantFrom(...expressions),
    timeZone: fc.constantFrom(...zones),
    instant: fc.integer({ min: start, max: start + 3_000 * dayMs }),
  });
  fc.assert(
    fc.property(fc.array(question, { maxLength: 8 }), (questions) => {
      const upcoming = new UpcomingDueTimes();
      for (const { cron, timeZone, instant } of questions) {
        const dueTimes = cronDueTimes(cron, timeZone);
        const expected: number[] = [];
        for (let due = dueTimes.next(instant); due !== undefined && expected.length < 3; due = dueTimes.next(due)) {
          expected.push(due);
        }
        expect(upcoming.after(instant, { cron, timeZone })).toEqual(expected);
      }
    }),
    { numRuns: runs(8) },
  );
});

it('returns the next multiples of a period', () => {
  expect(new UpcomingDueTimes().after(start + 1, { everyMs: dayMs })).toEqual([1, 2, 3].map((n) => start + n * dayMs));
});

it('returns nothing for an expression or a zone that this process does not know', () => {
  const upcoming = new UpcomingDueTimes();
  expect(upcoming.after(start, { cron: '0 0 99 * *', timeZone: 'UTC' })).toEqual([]);
  expect(upcoming.after(start, { cron: '0 0 * * *', timeZone: 'Mars/Base' })).toEqual([]);
  expect(upcoming.after(start, { cron: '0 0 * * *' })[0]).toBe(start + dayMs);
});
