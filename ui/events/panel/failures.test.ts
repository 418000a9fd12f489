import { expect, test } from 'vitest';
import type { FailureRecord } from '../../../server/dashboard/protocol.js';
import { groupFailures, maskDigits } from './failures.js';

function failure(at: number, name: string, message: string): FailureRecord {
  return { id: `id ${at}`, at, attempt: 1, name, message };
}

test.each([
  ['order 1048 of 9920', 'order # of #'],
  ['event 4be0643f-1d98-473b-97cd-ca98a6534710 is gone', 'event # is gone'],
  ['no digits', 'no digits'],
])('%j is masked as %j', (message, masked) => {
  expect(maskDigits(message)).toBe(masked);
});

test('groups failures by name and masked message, the largest group first', () => {
  const groups = groupFailures([
    failure(9, 'TimeoutError', 'declined: order 3'),
    failure(8, 'CardError', 'declined: order 2'),
    failure(5, 'CardError', 'declined: order 1'),
  ]);
  expect(groups).toMatchObject([
    { name: 'CardError', message: 'declined: order #', lastAt: 8 },
    { name: 'TimeoutError', lastAt: 9 },
  ]);
  expect(groups.map(({ failures }) => failures.length)).toEqual([2, 1]);
});
