import { expect, test } from 'vitest';
import type { RunIntrospection } from '../../server/dashboard/protocol.js';
import { runOf } from '../testing/test-data.js';
import { failedAlike, failedFirst } from './run-list.js';

test('failed runs come first, the others stay in order', () => {
  const runs = [
    runOf('a', 'completed', []),
    runOf('b', 'failed', []),
    runOf('c', 'active', []),
    runOf('d', 'failed', []),
  ];
  expect(failedFirst(runs).map(({ id }) => id)).toEqual(['b', 'd', 'a', 'c']);
});

test('runs in a row that failed with the same error, apart from ids, are together', () => {
  const failed = (id: string, message: string): RunIntrospection =>
    runOf(id, 'failed', [], { error: { name: 'FatalError', message } });
  const runs = [
    failed('a', 'printer 22483 is out of paper'),
    failed('b', 'printer 22484 is out of paper'),
    failed('c', 'no amount'),
    runOf('d', 'completed', []),
    runOf('e', 'completed', []),
    failed('f', 'no amount'),
  ];
  expect(failedAlike(runs).map((group) => group.map(({ id }) => id).join(''))).toEqual(['ab', 'c', 'd', 'e', 'f']);
});
