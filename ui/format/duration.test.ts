import { expect, test } from 'vitest';
import { formatAgo, formatAhead, formatDuration, formatPercentile } from './duration.js';

test.each<[number | null, string]>([
  [null, '—'],
  [0, '0 ms'],
  [0.4, '<1 ms'],
  [12.4, '12 ms'],
  [999.4, '999 ms'],
  [999.5, '1 s'],
  [1_240, '1.24 s'],
  [9_994, '9.99 s'],
  [30_000, '30 s'],
  [59_940, '59.9 s'],
  [59_994, '1 min'],
  [60_000, '1 min'],
  [65_000, '1 min 5 s'],
  [3_599_600, '1 h'],
  [3_900_000, '1 h 5 min'],
  [90_000_000, '1 d 1 h'],
])('%s ms reads %s', (ms, shown) => {
  expect(formatDuration(ms)).toBe(shown);
});

test.each<[number | null, string]>([
  [null, '—'],
  [0, '0 ms'],
  [0.4, '<1 ms'],
  [1, '~1 ms'],
  [12.4, '~12 ms'],
  [864, '~860 ms'],
  [999, '~1 s'],
  [1_240, '~1.2 s'],
  [25_100, '~25 s'],
  [59_940, '~1 min'],
  [80_000, '~1.3 min'],
  [3_900_000, '~1.1 h'],
  [93_600_000, '~1.1 d'],
  [10 ** 11, '~1200 d'],
])('a percentile of %s ms reads %s', (ms, shown) => {
  expect(formatPercentile(ms)).toBe(shown);
});

test.each<[number, string]>([
  [-5, 'now'],
  [999, 'now'],
  [12_900, '12 s ago'],
  [60_000, '1 min ago'],
  [7_200_000, '2 h ago'],
  [172_800_000, '2 d ago'],
  [729 * 86_400_000, '729 d ago'],
  [1_461 * 86_400_000, '4 y ago'],
])('%s ms ago reads %s', (ms, shown) => {
  expect(formatAgo(ms)).toBe(shown);
});

test.each([
  [400, '0 s'],
  [11_600, '12 s'],
  [59_600, '1 min'],
  [89_000, '1 min'],
  [3_599_000, '1 h'],
  [63_840_000, '17 h 44 min'],
  [86_399_000, '1 d'],
  [172_790_000, '2 d'],
  [420_000_000, '5 d'],
])('a time in %s ms reads %s', (ms, shown) => {
  expect(formatAhead(ms)).toBe(shown);
});
