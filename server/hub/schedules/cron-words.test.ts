import { Cron } from 'croner';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cronWords } from './schedule-words.js';

test.each<[string, string | undefined]>([
  ['* * * * *', 'every minute'],
  ['*/5 * * * *', 'every 5 minutes'],
  ['0 */5 * * * *', 'every 5 minutes'],
  ['15 * * * *', 'every hour at minute 15'],
  ['15 */2 * * *', 'every 2 hours from 00:15'],
  ['0 9-17 * * 1-5', 'every hour from 09:00 to 17:00 from Monday to Friday'],
  ['*/15 9-17 * * *', 'every 15 minutes from 09:00 to 17:45'],
  ['30 7 * * *', 'every day at 07:30'],
  ['0,30 8 * * *', 'every day at 08:00 and 08:30'],
  ['0 6,12,18 * * *', 'every day at 06:00, 12:00 and 18:00'],
  ['0 8 * * 1', 'on Mondays at 08:00'],
  ['0 8 * * MON-FRI', 'from Monday to Friday at 08:00'],
  ['0 8 * * 6,7', 'on Saturdays and Sundays at 08:00'],
  ['0 8 * * 0,7', 'on Sundays at 08:00'],
  ['0 8 * * 0-6', 'every day at 08:00'],
  ['0 8 1,15 * *', 'on days 1 and 15 of the month at 08:00'],
  ['@daily', 'every day at 00:00'],
  ['*/7 * * * *', undefined],
  ['0 8 1 * 1', undefined],
  ['0 8 1 1 *', undefined],
  ['0 8 * * 1#2', undefined],
  ['0 8 L * *', undefined],
  ['30 0 8 * * *', undefined],
  ['not a cron expression', undefined],
])('%s: %s', (expression, words) => {
  expect(cronWords(expression)).toBe(words);
});

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const minuteOf = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

/** Returns the minutes of a day that the words name, as a reader would understand them. */
function namedMinutes(words: string): readonly number[] {
  const times = (/\d\d:\d\d.*$/.exec(words)?.[0].match(/\d\d:\d\d/g) ?? []).map(minuteOf);
  if (/ at \d\d:/.test(words)) return times;
  const [from = 0, to = 1_439] = times;
  const day = Array.from({ length: 1_440 }, (_, minute) => minute);
  const inHour = / at minute (\d+)/.exec(words)?.[1];
  if (inHour !== undefined) return day.filter((minute) => minute % 60 === Number(inHour));
  const [, count = '1', unit = ''] = /every (?:(\d+) )?(minute|hour)/.exec(words) ?? [];
  const step = Number(count) * (unit === 'hour' ? 60 : 1);
  return day.filter((minute) => minute >= from && minute <= to && (minute - from) % step === 0);
}

/** Returns true if the words name the day, as a reader would understand them. */
function namesDay(words: string, day: Date): boolean {
  const weekday = WEEKDAYS[day.getUTCDay()] ?? '';
  const [, first, last] = /from ([A-Z]\w+) to (\w+)/.exec(words) ?? [];
  if (first !== undefined && last !== undefined) {
    const length = (WEEKDAYS.indexOf(last) - WEEKDAYS.indexOf(first) + 7) % 7;
    return (WEEKDAYS.indexOf(weekday) - WEEKDAYS.indexOf(first) + 7) % 7 <= length;
  }
  const days = /on days? ([^a-z]+(?:and \d+ )?)of the month/.exec(words)?.[1]?.match(/\d+/g);
  if (days) return days.includes(String(day.getUTCDate()));
  return !/on [A-Z]/.test(words) || words.includes(`${weekday}s`);
}

const field = (min: number, max: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min, max });
  return fc.oneof(
    fc.constant('*'),
    value.map(String),
    fc.integer({ min: 1, max: 30 }).map((step) => `*/${step}`),
    fc.tuple(value, value).map(([a, b]) => `${a}-${b}`),
    fc.array(value, { minLength: 1, maxLength: 3 }).map((values) => values.join(',')),
  );
};

test('the words name exactly the times at which a schedule is due', () => {
  const shapes = fc.tuple(field(0, 59), field(0, 23), field(1, 31), fc.constant('*'), field(0, 7));
  const daily = fc.tuple(field(0, 59), field(0, 23), fc.constant('*'), fc.constant('*'), fc.constant('*'));
  const weekly = fc.tuple(field(0, 59), field(0, 23), fc.constant('*'), fc.constant('*'), field(0, 7));
  const monthly = fc.tuple(field(0, 59), field(0, 23), field(1, 31), fc.constant('*'), fc.constant('*'));
  fc.assert(
    fc.property(fc.oneof(shapes, daily, weekly, monthly), fc.integer({ min: 0, max: 364 }), (parts, startsAt) => {
      const expression = parts.join(' ');
      const words = cronWords(expression);
      fc.pre(words !== undefined);
      const cron = new Cron(expression, { timezone: 'UTC', mode: '5-or-6-parts' });
      const days = Array.from({ length: 8 }, (_, index) => Date.UTC(2026, 0, 1 + startsAt + index));
      const minutes = namedMinutes(words);
      const named = days
        .filter((day) => namesDay(words, new Date(day)))
        .flatMap((day) => minutes.map((minute) => day + minute * 60_000));
      // The times before and after a gap, and some of those that repeat evenly.
      const start = Date.UTC(2026, 0, 1 + startsAt);
      const stride = Math.ceil(named.length / 50);
      const end = start + 8 * 86_400_000;
      for (const [index, at] of [start - 1, ...named].entries()) {
        const next = named[index] ?? end;
        const isEven = index > 1 && at - (named[index - 2] ?? 0) === next - at;
        if (isEven && index % stride > 0) continue;
        const due = cron.nextRun(new Date(at))?.getTime() ?? end;
        expect(Math.min(due, end), `${expression} after ${new Date(at).toISOString()}`).toBe(next);
      }
    }),
  );
});
