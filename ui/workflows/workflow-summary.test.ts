import { expect, test } from 'vitest';
import type { StepStatus } from '../../server/dashboard/protocol.js';
import { runOf, workflowOf } from '../testing/test-data.js';
import { stagesOf, summarizeSteps } from './workflow-summary.js';

/** Returns the summary of a step with these statuses in its runs. */
function summaryOf(...newestFirst: readonly StepStatus[]) {
  const runs = newestFirst.map((status, index) => runOf(`run ${index}`, 'active', [['pick', status]]));
  return summarizeSteps(workflowOf('fulfil', ['pick'], { runs }))[0];
}

test.each<[StepStatus, readonly StepStatus[]]>([
  ['waiting', []],
  ['waiting', ['waiting']],
  ['active', ['completed', 'active', 'failed']],
  ['active', ['retrying', 'active']],
  ['retrying', ['completed', 'retrying', 'failed']],
  ['failed', ['failed', 'completed']],
  ['cancelled', ['cancelled', 'failed']],
  ['completed', ['waiting', 'completed', 'failed']],
])('is %s for the runs %j, newest first', (expected, newestFirst) => {
  expect(summaryOf(...newestFirst)?.status).toBe(expected);
});

test('counts runs by status', () => {
  expect(summaryOf('completed', 'failed', 'completed', 'active', 'cancelled')?.runs).toEqual({
    waiting: 0,
    active: 1,
    retrying: 0,
    suspended: 0,
    completed: 2,
    failed: 1,
    cancelled: 1,
  });
});

test('ignores runs of an older definition without the step', () => {
  const runs = [runOf('old', 'completed', [['gone', 'completed']])];
  expect(summarizeSteps(workflowOf('fulfil', ['pick'], { runs }))[0]).toMatchObject({
    name: 'pick',
    status: 'waiting',
  });
});

test('has the median duration and the failure rate of the runs that ended the step', () => {
  const runs = [
    runOf('1', 'completed', [['pick', 'completed', 300]]),
    runOf('2', 'completed', [['pick', 'completed', 100]]),
    runOf('3', 'failed', [['pick', 'failed']]),
    runOf('4', 'active', [['pick', 'active']]),
  ];
  expect(summarizeSteps(workflowOf('fulfil', ['pick'], { runs }))[0]).toMatchObject({
    medianMs: 200,
    failureRatio: 1 / 3,
  });
});

test('steps with the same stage are one stage, and a function is one step', () => {
  const step = (name: string, stage?: number) => ({
    name,
    kind: 'step' as const,
    ...(stage !== undefined && { stage }),
  });
  const steps = [step('a'), step('b', 1), step('c', 1), step('d', 2), step('e')];
  expect(stagesOf({ steps })).toEqual([1, 2, 1, 1]);
  expect(stagesOf({ steps: [] })).toEqual([1]);
  const runs = [runOf('1', 'completed', []), runOf('2', 'failed', []), runOf('3', 'suspended', [])];
  expect(summarizeSteps(workflowOf('w', [], { runs }))).toMatchObject([
    { name: 'function', status: 'suspended', failureRatio: 0.5, runs: { completed: 1, failed: 1, suspended: 1 } },
  ]);
});
