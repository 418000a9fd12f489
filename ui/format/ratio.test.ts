import { expect, test } from 'vitest';
import { formatPercent, formatRate } from './ratio.js';

test.each<[number | null, string]>([
  [null, '—'],
  [0, '0'],
  [0.04, '<0.1'],
  [0.5, '0.5'],
  [9.94, '9.9'],
  [9.96, '10'],
  [1_234.5, '1,235'],
  [43_210, '43.2K'],
])('a rate of %s reads %s', (rate, shown) => {
  expect(formatRate(rate)).toBe(shown);
});

test.each<[number | null, string]>([
  [null, '—'],
  [0, '0%'],
  [0.000_1, '<0.1%'],
  [0.001, '0.1%'],
  [0.042, '4.2%'],
  [0.999_4, '99.9%'],
  [0.999_9, '>99.9%'],
  [1, '100%'],
])('a ratio of %s reads %s', (ratio, shown) => {
  expect(formatPercent(ratio)).toBe(shown);
});
