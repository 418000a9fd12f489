import { screen } from '@testing-library/preact';
import { expect, test } from 'vitest';
import type { RunIntrospection, StepIntrospection } from '../../server/dashboard/protocol.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { runOf, workflowOf } from '../testing/test-data.js';
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

function failed(id: string, message: string): RunIntrospection {
  return runOf(id, 'failed', [], { error: { name: 'FatalError', message } });
}

test('three and more runs in a row that failed with the same error, apart from ids, are together', () => {
  const runs = [
    failed('a', 'printer 22483 is out of paper'),
    failed('b', 'printer 22484 is out of paper'),
    failed('c', 'printer 22485 is out of paper'),
    failed('d', 'no amount'),
    failed('e', 'no amount'),
    runOf('f', 'completed', []),
    runOf('g', 'completed', []),
    runOf('h', 'completed', []),
    failed('i', 'no amount'),
  ];
  expect(failedAlike(runs).map((group) => group.map(({ id }) => id).join(''))).toEqual(['abc', ...'defghi']);
});

test('a failed run names the step that had its error', async () => {
  const api = createFakeApi([]);
  const steps = ['carrier is away', 'no paper'].map(
    (message, index): StepIntrospection => ({
      name: `step ${index + 1}`,
      kind: 'run',
      status: 'failed',
      error: { name: 'FatalError', message },
    }),
  );
  api.workflows = [
    workflowOf('print', [], { runs: [{ ...failed('a', 'carrier is away'), steps }, failed('b', 'other')] }),
  ];
  await openPage(api, '#/workflows/print');
  expect(screen.getByText(/carrier is away$/, { selector: '.run-note' }).textContent).toBe(
    'FatalError in step 1: carrier is away',
  );
  expect(screen.getByText(/other$/, { selector: '.run-note' }).textContent).toBe('FatalError other');
});

test('the button of runs that failed alike stays the same as newer ones join and the oldest leave', async () => {
  const api = createFakeApi([]);
  const alike = (ids: string): readonly RunIntrospection[] => [...ids].map((id) => failed(`run-${id}`, 'no paper'));
  api.workflows = [workflowOf('print', [], { runs: alike('cba') })];
  const page = await openPage(api, '#/workflows/print');
  const button = screen.getByRole('button', { name: /^2 more alike/ });
  for (const [ids, count] of [
    ['dcba', 3],
    ['edcb', 3],
  ] as const) {
    api.workflows = [workflowOf('print', [], { runs: alike(ids) })];
    await page.poll();
    expect(screen.getByRole('button', { name: new RegExp(`^${count} more alike`) })).toBe(button);
  }
  await page.click(button);
  expect(screen.getAllByRole('link', { name: /^run-/ }).map(({ textContent }) => textContent)).toEqual([
    'run-e',
    'run-d',
    'run-c',
    'run-b',
  ]);
});
