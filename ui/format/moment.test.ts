import { expect, test } from 'vitest';
import { formatMoment } from './clock-time.js';

const at = (...parts: [month: number, day: number, hours: number]): number => new Date(2026, ...parts, 0, 12).getTime();

test.each([
  ['of today has seconds and no day', at(4, 1, 8), /^08:00:12$/],
  ['of another day has the day', at(4, 2, 8), /\b2\b.*08:00$/],
])('a time %s', (_, time, text) => {
  expect(formatMoment(time, at(4, 1, 9))).toMatch(text);
});

test('a time of another year has the year', () => {
  expect(formatMoment(new Date(2027, 0, 1, 8).getTime(), at(4, 1, 9))).toContain('2027');
});
