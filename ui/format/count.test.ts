import { expect, test } from 'vitest';
import { exactCount, formatCount } from './count.js';

test.each<[number, string, string | undefined]>([
  [0, '0', undefined],
  [999, '999', undefined],
  [9_999, '9,999', undefined],
  [10_000, '10K', '10,000'],
  [12_345, '12.3K', '12,345'],
  [1_700_000, '1.7M', '1,700,000'],
])('%i reads %s, with the title %s', (count, shown, title) => {
  expect(formatCount(count)).toBe(shown);
  expect(exactCount(count)).toBe(title);
});
