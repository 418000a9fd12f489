import { expect, test } from 'vitest';
import { runOf, SERVER_NOW } from '../testing/test-data.js';
import { failedFirst, runSegments } from './run-segments.js';

test('the step in which a run is has the time that the finished steps leave', () => {
  const run = runOf('a', 'active', [
    ['pick', 'completed', 1_000],
    ['ship', 'active'],
    ['bill', 'waiting'],
  ]);
  expect(runSegments(run, SERVER_NOW)).toEqual([
    { name: 'pick', status: 'completed', durationMs: 1_000 },
    { name: 'ship', status: 'active', durationMs: 4_000 },
  ]);
});

test('a failed step ends with its run', () => {
  const run = runOf('a', 'failed', [['pick', 'failed']], { endedAt: SERVER_NOW - 3_000 });
  expect(runSegments(run, SERVER_NOW)).toEqual([{ name: 'pick', status: 'failed', durationMs: 2_000 }]);
});

test('failed runs come first, the others stay in order', () => {
  const runs = [
    runOf('a', 'completed', []),
    runOf('b', 'failed', []),
    runOf('c', 'active', []),
    runOf('d', 'failed', []),
  ];
  expect(failedFirst(runs).map(({ id }) => id)).toEqual(['b', 'd', 'a', 'c']);
});
