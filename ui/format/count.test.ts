import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exactCount, formatCount } from './number.js';

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

test('a count reads as the formatters of Intl write it', () => {
  const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
  const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
  const digits = fc.integer({ min: 0, max: 15 });
  const count = fc.tuple(digits, fc.maxSafeNat()).map(([length, n]) => n % 10 ** length);
  fc.assert(
    fc.property(count, (n) => {
      expect(formatCount(n)).toBe(n < 10_000 ? whole.format(n) : compact.format(n));
      expect(exactCount(n)).toBe(n < 10_000 ? undefined : whole.format(n));
    }),
  );
});
