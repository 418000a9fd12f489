import { expect, it } from 'vitest';
import type { PlacedRun, RunIntrospection } from '../../server/dashboard/protocol.js';
import { runOf } from '../testing/test-data.js';
import { type RunFilter, selectRuns } from './open-workflow.js';

function placed(id: string, status: RunIntrospection['status'], ...at: readonly string[]): PlacedRun {
  return { ...runOf(id, status, []), at };
}

const body = {
  now: 0,
  workflow: 'fulfil',
  runs: [
    placed('new', 'completed'),
    placed('queued', 'waiting'),
    placed('runs', 'active'),
    placed('retries', 'active', 'ship'),
    placed('waits', 'suspended', 'paid'),
    placed('failed', 'failed', 'ship'),
  ],
  waiting: [placed('waits for long', 'suspended', 'paid'), placed('waits', 'suspended', 'paid')],
  steps: [],
  read: { newest: 5, failed: 1, waiting: 2 },
};

it.each<[RunFilter, string | null, string[]]>([
  ['all', null, ['failed', 'new', 'queued', 'runs', 'retries', 'waits', 'waits for long']],
  ['failed', null, ['failed']],
  ['waiting', null, ['queued']],
  ['suspended', null, ['waits for long', 'waits']],
  ['active', null, ['runs', 'retries']],
  ['completed', null, ['new']],
  ['all', 'ship', ['failed', 'retries']],
  ['all', 'paid', ['waits', 'waits for long']],
  ['failed', 'paid', []],
])('%s runs in step %s', (filter, step, ids) => {
  expect(selectRuns(body, filter, step).map(({ id }) => id)).toEqual(ids);
});
