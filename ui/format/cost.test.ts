import { expect, test } from 'vitest';
import { formatCost } from './number.js';

test.each([
  [0, '0'],
  [0.000_012_3, '<0.0001'],
  [0.0042, '0.0042'],
  [0.01, '0.0100'],
  [1.418, '1.42'],
  [99.99, '99.99'],
  [1_204.4, '1,204'],
])('a cost of %d is %s', (cost, text) => {
  expect(formatCost(cost)).toBe(text);
});
