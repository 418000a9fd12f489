import { expect, test } from 'vitest';
import { formatPercent, formatRate } from './number.js';

test.each<[number | null, string]>([
  [null, '—'],
  [0, '0/min'],
  [0.001, '<0.1/min'],
  [0.09, '5.4/min'],
  [0.5, '30/min'],
  [0.996, '1/s'],
  [3.44, '3.4/s'],
  [9.96, '10/s'],
  [1_234.5, '1,235/s'],
  [43_210, '43.2K/s'],
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
