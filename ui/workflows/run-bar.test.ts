import { expect, test } from 'vitest';
import type { StepIntrospection } from '../../server/dashboard/protocol.js';
import { runOf, SERVER_NOW } from '../testing/test-data.js';
import { atMost, belowOthers, runSegments } from './run-bar.js';

const start = SERVER_NOW - 5_000;

function stepAt(name: string, from: number, to: number, rest: Partial<StepIntrospection> = {}): StepIntrospection {
  const times = { startedAt: start + from, endedAt: start + to, durationMs: to - from };
  return { name, kind: 'run', status: 'completed', ...times, ...rest };
}

/** Returns the parts of a run with these steps, with their times since it was accepted. */
function partsOf(status: 'active' | 'suspended' | 'completed', ...steps: readonly StepIntrospection[]) {
  const run = runOf('a', status, [], { steps, ...(status === 'completed' && { endedAt: SERVER_NOW }) });
  return runSegments(run, SERVER_NOW).map(({ name, status, from, to }) => [name, status, from - start, to - start]);
}

test('steps stand where they ran: those at the same time overlap', () => {
  const run = runOf('a', 'completed', [], {
    endedAt: SERVER_NOW,
    steps: [
      stepAt('pick', 0, 1_000),
      stepAt('weigh', 1_000, 1_500),
      stepAt('print', 1_000, 2_000),
      stepAt('pack', 1_000, 3_000),
      stepAt('ship', 3_000, 5_000),
    ],
  });
  const segments = runSegments(run, SERVER_NOW);
  expect(segments.map(({ name, from, to }) => [name, from - start, to - start])).toEqual([
    ['pick', 0, 1_000],
    ['weigh', 1_000, 1_500],
    ['print', 1_000, 2_000],
    ['pack', 1_000, 3_000],
    ['ship', 3_000, 5_000],
  ]);
  expect([...belowOthers(segments)]).toEqual(['run print', 'run weigh']);
});

test('a step that follows another one does not stand below it, although their rounded times overlap', () => {
  const steps = [stepAt('pick', 0, 1_001), stepAt('pack', 1_000, 3_000)];
  expect(belowOthers(runSegments(runOf('a', 'completed', [], { steps }), SERVER_NOW)).size).toBe(0);
});

test('of steps at the same time, the failed one has its name', () => {
  const steps = [stepAt('pack', 0, 2_000), stepAt('print', 0, 300, { status: 'failed' })];
  const run = runOf('a', 'failed', [], { endedAt: SERVER_NOW, steps });
  expect([...belowOthers(runSegments(run, SERVER_NOW))]).toEqual(['run pack']);
});

test('a step that waited is told apart from those that ran', () => {
  const scanned = stepAt('scanned', 1_000, 4_000, { kind: 'event' });
  expect(partsOf('completed', stepAt('pick', 0, 1_000), scanned, stepAt('ship', 4_000, 5_000))).toEqual([
    ['pick', 'completed', 0, 1_000],
    ['scanned', 'waited', 1_000, 4_000],
    ['ship', 'completed', 4_000, 5_000],
  ]);
});

test('a step that waits is suspended since its wait began', () => {
  const waitsFor = { since: start + 2_000, event: { type: 'parcel.scanned' } };
  expect(partsOf('suspended', { name: 'scan', kind: 'event', status: 'waiting', waitsFor })).toEqual([
    ['scan', 'suspended', 2_000, 5_000],
  ]);
});

test('a step that waits for its next attempt does so since the last one ended', () => {
  const pack = stepAt('pack', 1_000, 1_500, { status: 'retrying', attempt: 2 });
  expect(partsOf('suspended', stepAt('pick', 0, 1_000), pack).at(-1)).toEqual(['pack', 'retrying', 1_500, 5_000]);
});

test('a step has the time of its last attempt', () => {
  expect(partsOf('completed', stepAt('pack', 0, 5_000, { durationMs: 700 }))).toEqual([
    ['pack', 'completed', 4_300, 5_000],
  ]);
});

test('a step of a list without times has those since the step before', () => {
  const step = (name: string, status: StepIntrospection['status']) => ({ name, kind: 'run', status }) as const;
  expect(partsOf('active', stepAt('pick', 0, 1_000), step('ship', 'active'), step('bill', 'waiting'))).toEqual([
    ['pick', 'completed', 0, 1_000],
    ['ship', 'active', 1_000, 5_000],
  ]);
});

test('a failed step without times ends with its run', () => {
  const run = runOf('a', 'failed', [['pick', 'failed']], { endedAt: SERVER_NOW - 3_000 });
  expect(runSegments(run, SERVER_NOW)).toEqual([
    { key: 'run pick', name: 'pick', status: 'failed', from: start, to: start + 2_000 },
  ]);
});

test('a run between two records is in a step that has no name yet, since the last one ended', () => {
  expect(partsOf('active', stepAt('pick', 4_290, 4_300)).at(-1)).toEqual(['running', 'active', 4_300, 5_000]);
  expect(partsOf('active')).toEqual([['running', 'active', 0, 5_000]]);
});

test('a bar has at most 60 segments, the last one for the rest', () => {
  const steps = Array.from({ length: 100 }, (_, index) => stepAt(`s${index}`, index * 10, index * 10 + 10));
  const segments = atMost(runSegments(runOf('r', 'completed', [], { endedAt: SERVER_NOW, steps }), SERVER_NOW));
  expect(segments).toHaveLength(60);
  expect(segments.at(-1)).toEqual({
    key: 'rest',
    name: '41 more',
    status: 'completed',
    from: start + 590,
    to: start + 1_000,
  });
});
