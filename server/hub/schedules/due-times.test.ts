import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cronDueTimes, type DueTimes, everyDueTimes, lastDueTimes } from './due-times.js';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const zones = ['Europe/Oslo', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca'];
const start = Date.UTC(2026, 0, 1);
const end = Date.UTC(2036, 0, 1);

/** A local minute, as clocks of a zone show it. */
interface LocalMinute {
  readonly instant: number;
  readonly date: string;
  readonly month: number;
  readonly dayOfMonth: number;
  readonly dayOfWeek: number;
  readonly hour: number;
  readonly minute: number;
}

/** Reads clocks of a zone: independent of the conversions under test. */
function localClock(timeZone: string): (instant: number) => LocalMinute {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return (instant) => {
    const [date = '', time = ''] = format.format(instant).split(' ');
    const [, month, dayOfMonth] = date.split('-').map(Number);
    const [hour, minute] = time.split(':').map(Number);
    const dayOfWeek = new Date(`${date}T00:00:00Z`).getUTCDay();
    return {
      instant,
      date,
      month: month ?? Number.NaN,
      dayOfMonth: dayOfMonth ?? Number.NaN,
      dayOfWeek,
      hour: hour ?? Number.NaN,
      minute: minute ?? Number.NaN,
    };
  };
}

/** Instants at which a zone changes its offset, found hour by hour. */
function changesOf(timeZone: string): number[] {
  const clock = localClock(timeZone);
  const timeOfDay = (instant: number): string => {
    const { hour, minute } = clock(instant);
    return `${hour}:${minute}`;
  };
  const changes: number[] = [];
  for (let day = start; day < end; day += dayMs) {
    if (timeOfDay(day) === timeOfDay(day + dayMs)) continue;
    for (let minute = day; minute < day + dayMs; minute += minuteMs) {
      const before = clock(minute);
      const after = clock(minute + minuteMs);
      const moved = (after.hour * 60 + after.minute - before.hour * 60 - before.minute + 1440) % 1440;
      if (moved !== 1) changes.push(minute + minuteMs);
    }
  }
  return changes;
}

/** Every minute from two days before a change to two days after it. */
function minutesAround(timeZone: string, change: number): LocalMinute[] {
  const clock = localClock(timeZone);
  const first = change - 2 * dayMs;
  return Array.from({ length: (4 * dayMs) / minuteMs }, (_, index) => clock(first + index * minuteMs));
}

type Matcher = (local: LocalMinute) => boolean;

/** Due times of an expression with a wildcard or a step: every minute that matches. */
function elapsed(minutes: readonly LocalMinute[], matches: Matcher): number[] {
  return minutes.filter(matches).map(({ instant }) => instant);
}

/** Due times of fixed times of day: once per day, at the end of a gap, the first time in an overlap. */
function fixed(minutes: readonly LocalMinute[], times: readonly number[], matchesDay: Matcher): number[] {
  const due = new Set<number>();
  for (const date of new Set(minutes.slice(1440, -1440).map((local) => local.date))) {
    const day = minutes.filter((local) => local.date === date);
    if (day[0] === undefined || !matchesDay(day[0])) continue;
    for (const time of times) {
      const shown = day.find(({ hour, minute }) => hour * 60 + minute === time);
      const later = day.find(({ hour, minute }) => hour * 60 + minute > time);
      const at = shown ?? later;
      if (at !== undefined) due.add(at.instant);
    }
  }
  return [...due].sort((a, b) => a - b);
}

function within(dueTimes: DueTimes, from: number, to: number): number[] {
  const found: number[] = [];
  for (let due = dueTimes.next(from - 1); due !== undefined && due < to; due = dueTimes.next(due)) found.push(due);
  return found;
}

describe.each(zones)('cron in %s, at every zone change of ten years', (timeZone) => {
  const around = changesOf(timeZone).map((change) => minutesAround(timeZone, change));

  it('meets the changes of its zone', () => {
    if (timeZone !== 'Africa/Casablanca') expect(around).toHaveLength(20);
    // Newer time zone data of Node 26 end the changes of Casablanca.
    else expect(around.length).toBeGreaterThanOrEqual(3);
  });

  it.each<[string, Matcher]>([
    ['*/15 * * * *', ({ minute }) => minute % 15 === 0],
    ['30 * * * *', ({ minute }) => minute === 30],
    ['15 */2 * * *', ({ hour, minute }) => minute === 15 && hour % 2 === 0],
    ['*/10 2 * * *', ({ hour, minute }) => hour === 2 && minute % 10 === 0],
    [
      '5-50/15 1-3 * * 0',
      ({ hour, minute, dayOfWeek }) => dayOfWeek === 0 && hour >= 1 && hour <= 3 && [5, 20, 35, 50].includes(minute),
    ],
  ])('%s is due whenever clocks show a matching time', (expression, matches) => {
    const dueTimes = cronDueTimes(expression, timeZone);
    for (const minutes of around) {
      const from = minutes[0]?.instant ?? Number.NaN;
      expect(within(dueTimes, from, from + 4 * dayMs)).toEqual(elapsed(minutes, matches));
    }
  });

  it.each<[string, readonly number[], Matcher]>([
    ['0 2 * * *', [120], () => true],
    ['30 2 * * *', [150], () => true],
    ['45 1 * * *', [105], () => true],
    ['15 2,14 * * *', [135, 855], () => true],
    ['0,30 1-3 * * 0', [60, 90, 120, 150, 180, 210], ({ dayOfWeek }) => dayOfWeek === 0],
    ['59 2 1-15 * *', [179], ({ dayOfMonth }) => dayOfMonth <= 15],
  ])('%s is due once per day', (expression, times, matchesDay) => {
    const dueTimes = cronDueTimes(expression, timeZone);
    for (const minutes of around) {
      const [from, to] = [minutes[1440]?.instant ?? Number.NaN, minutes.at(-1440)?.instant ?? Number.NaN];
      const expected = fixed(minutes, times, matchesDay).filter((due) => due >= from && due < to);
      expect(within(dueTimes, from, to)).toEqual(expected);
    }
  });

  it('finds the same next due time from any instant', () => {
    const minutes = around.flat();
    const dueTimes = cronDueTimes('30 1-2 * * *', timeZone);
    fc.assert(
      fc.property(fc.nat(around.length - 1), fc.integer({ min: 1440, max: 2880 }), fc.nat(59_999), (index, at, ms) => {
        const window = around[index] ?? minutes;
        const instant = (window[at]?.instant ?? Number.NaN) + ms;
        const expected = fixed(window, [90, 150], () => true).find((due) => due > instant);
        expect(dueTimes.next(instant)).toBe(expected);
      }),
    );
  });
});

it.each([['0 0 30 2 *'], ['0 0 31 4 *']])('%s is never due', (expression) => {
  expect(cronDueTimes(expression, 'UTC').next(start)).toBeUndefined();
});

it('reads six fields with seconds first', () => {
  expect(cronDueTimes('*/15 * * * * *', 'UTC').next(start)).toBe(start + 15_000);
  expect(cronDueTimes('30 0 2 * * *', 'Europe/Oslo').next(start)).toBe(start + 3_600_000 + 30_000);
});

it('aligns a period to the epoch', () => {
  const dueTimes = everyDueTimes(7_000);
  expect(dueTimes.next(0)).toBe(7_000);
  expect(dueTimes.next(6_999.5)).toBe(7_000);
  expect(dueTimes.next(7_000)).toBe(14_000);
});

it('returns the last due times of an interval', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400_000 }),
      fc.integer({ min: 0, max: 2_000_000 }),
      fc.integer({ min: 0, max: 2_000_000 }),
      fc.integer({ min: 1, max: 20 }),
      (everyMs, after, length, limit) => {
        const all: number[] = [];
        for (let due = (Math.floor(after / everyMs) + 1) * everyMs; due <= after + length; due += everyMs) {
          all.push(due);
          if (all.length > limit) all.shift();
        }
        expect(lastDueTimes(everyDueTimes(everyMs), after, after + length, limit)).toEqual(all);
      },
    ),
  );
});

it('finds the last due time of a second-by-second schedule after a year without looking at all of them', () => {
  let looks = 0;
  const everySecond = everyDueTimes(1_000);
  const counted: DueTimes = {
    next(after) {
      looks += 1;
      return everySecond.next(after);
    },
  };
  expect(lastDueTimes(counted, start, start + 365 * dayMs, 1)).toEqual([start + 365 * dayMs]);
  expect(looks).toBeLessThan(100);
});
