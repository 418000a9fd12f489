import { expect, test } from 'vitest';
import type { RunIntrospection } from '../../server/dashboard/protocol.js';
import { runOf, SERVER_NOW } from '../testing/test-data.js';
import { atMost, failedAlike, failedFirst, runSegments } from './run-list.js';

test('the step in which a run is has the time that the finished steps leave', () => {
  const run = runOf('a', 'active', [
    ['pick', 'completed', 1_000],
    ['ship', 'active'],
    ['bill', 'waiting'],
  ]);
  expect(runSegments(run, SERVER_NOW)).toEqual([
    { key: 'run pick', name: 'pick', status: 'completed', durationMs: 1_000 },
    { key: 'run ship', name: 'ship', status: 'active', durationMs: 4_000 },
  ]);
});

test('a step that waits for its next attempt has the time since the step before', () => {
  const run = runOf('a', 'suspended', [
    ['pick', 'completed', 1_000],
    ['pack', 'retrying', 20],
  ]);
  expect(runSegments(run, SERVER_NOW).map(({ durationMs }) => durationMs)).toEqual([1_000, 4_000]);
});

test('a failed step ends with its run', () => {
  const run = runOf('a', 'failed', [['pick', 'failed']], { endedAt: SERVER_NOW - 3_000 });
  expect(runSegments(run, SERVER_NOW)).toEqual([
    { key: 'run pick', name: 'pick', status: 'failed', durationMs: 2_000 },
  ]);
});

test('a run between two records is in a step that has no name yet, since the last one ended', () => {
  const step = { name: 'pick', kind: 'run', status: 'completed', endedAt: SERVER_NOW - 700, durationMs: 10 } as const;
  const of = (steps: readonly (typeof step)[]) => runSegments(runOf('a', 'active', [], { steps }), SERVER_NOW);
  expect(of([step]).at(-1)).toEqual({ key: 'now', name: 'running', status: 'active', durationMs: 700 });
  expect(of([]).at(-1)).toEqual({ key: 'now', name: 'running', status: 'active', durationMs: 5_000 });
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

test('a step that waits for an event is suspended', () => {
  const run = runOf('a', 'suspended', [], {
    steps: [
      { name: 'scan', kind: 'event', status: 'waiting', waitsFor: { since: 0, event: { type: 'parcel.scanned' } } },
    ],
  });
  expect(runSegments(run, SERVER_NOW)).toEqual([
    { key: 'event scan', name: 'scan', status: 'suspended', durationMs: 5_000 },
  ]);
});

test('a bar has at most 60 segments, the last one for the rest', () => {
  const names = Array.from({ length: 100 }, (_, index) => [`s${index}`, 'completed', 10] as const);
  const segments = atMost(runSegments(runOf('r', 'completed', names), SERVER_NOW));
  expect(segments).toHaveLength(60);
  expect(segments.at(-1)).toEqual({ key: 'rest', name: '41 more', status: 'completed', durationMs: 410 });
});
