import { expect, test } from 'vitest';
import type { StepStatus } from '../../server/dashboard/protocol.js';
import { runOf, workflowOf } from '../testing/test-data.js';
import { stepViews } from './step-summaries.js';

/** How a step looks whose last runs, newest first, stand like this. */
function viewOf(...newestFirst: readonly StepStatus[]) {
  const runs = newestFirst.map((status, index) => runOf(`run ${index}`, 'active', [['pick', status]]));
  return stepViews(workflowOf('fulfil', ['pick'], { runs }))[0];
}

test.each<[StepStatus, readonly StepStatus[]]>([
  ['waiting', []],
  ['waiting', ['waiting']],
  ['active', ['completed', 'active', 'failed']],
  ['active', ['retrying', 'active']],
  ['retrying', ['completed', 'retrying', 'failed']],
  ['failed', ['failed', 'completed']],
  ['completed', ['waiting', 'completed', 'failed']],
])('%s where its runs, newest first, are %j', (expected, newestFirst) => {
  expect(viewOf(...newestFirst)?.status).toBe(expected);
});

test('counts runs by where they stand', () => {
  expect(viewOf('completed', 'failed', 'completed', 'active')?.runs).toEqual({
    waiting: 0,
    active: 1,
    retrying: 0,
    completed: 2,
    failed: 1,
  });
});

test('a run of an older definition, without the step, counts for nothing', () => {
  const runs = [runOf('old', 'completed', [['gone', 'completed']])];
  expect(stepViews(workflowOf('fulfil', ['pick'], { runs }))[0]).toMatchObject({ name: 'pick', status: 'waiting' });
});
