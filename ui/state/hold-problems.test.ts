import { expect, test } from 'vitest';
import type { Problem } from '../../server/dashboard/protocol.js';
import { holdProblems } from './problems.js';

function failing(eventType: string, failed: number): Problem {
  return { kind: 'failing', severity: 'error', eventType, failed };
}

test('held problems keep their place with new numbers, solved ones leave, and new ones come last', () => {
  const shown = [failing('a', 1), failing('solved', 2), failing('b', 3)];
  const fresh = [failing('new', 9), failing('b', 8), failing('a', 7)];
  expect(holdProblems(shown, fresh)).toEqual([failing('a', 7), failing('b', 8), failing('new', 9)]);
});

test('a held problem keeps its error, which would change with every failure', () => {
  const withError = (message: string): Problem => ({ ...failing('a', 1), lastError: { name: 'Error', message } });
  expect(holdProblems([withError('card 1 declined')], [withError('card 2 declined')])).toEqual([
    withError('card 1 declined'),
  ]);
});
