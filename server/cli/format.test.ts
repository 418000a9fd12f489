import { expect, test } from 'vitest';
import { formatAge, formatCount, formatMs, parseSince } from './format.js';
import { plain, tableLines } from './terminal.js';

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_500, '1.5 s'],
  [90_000, '1.5 min'],
  [7_200_000, '2 h'],
  [11 * 86_400_000, '11 d'],
])('formats %d ms as %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});

test('formats the age of a moment, never a negative one', () => {
  expect(formatAge(1_000, 3_000)).toBe('2 s ago');
  expect(formatAge(4_000, 3_000)).toBe('0 ms ago');
  expect(formatAge(undefined, 3_000)).toBe('');
});

test.each([
  ['90s', 10_000],
  ['1.5m', 10_000],
  ['0h', 100_000],
  ['1970-01-01T00:00:01Z', 1_000],
  ['soon', undefined],
  ['2', undefined],
  ['-1h', undefined],
  ['', undefined],
])('reads %s as a moment', (text, at) => {
  expect(parseSince(text, 100_000)).toBe(at);
});

test('aligns columns, numbers to the right, and removes control characters', () => {
  expect(
    tableLines(
      ['type', 'failed'],
      [
        ['a', '12'],
        ['long\u001b[2J', '3'],
      ],
    ),
  ).toEqual(['type      failed', 'a             12', 'long [2J       3']);
  expect(tableLines(['type'], [])).toEqual([]);
  expect(plain('a\n\u0007b')).toBe('a  b');
});

test('a count has the singular of its noun for one alone', () => {
  expect([0, 1, 2].map((count) => formatCount(count, 'event type'))).toEqual([
    '0 event types',
    '1 event type',
    '2 event types',
  ]);
  expect([1, 2].map((count) => formatCount(count, 'process', 'processes'))).toEqual(['1 process', '2 processes']);
});
