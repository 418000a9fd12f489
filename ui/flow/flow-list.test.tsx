import { screen, within } from '@testing-library/preact';
import { expect, test } from 'vitest';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { countsOf, eventOf, failingOf, periodOf, recentOf, SERVER_NOW, workflowOf } from '../testing/test-data.js';
import { flowGraph } from './flow-graph.js';
import { type FlowBranch, flowBranches } from './flow-list.js';

/** Returns the lines of the list, indented by what leads to them. */
function outline(branches: readonly FlowBranch[], indent = ''): string[] {
  return branches.flatMap(({ id, relation, isRepeated, next }) => [
    `${indent}${relation ?? ''} ${id}${isRepeated ? ' again' : ''}`.trimEnd(),
    ...outline(next, `${indent}  `),
  ]);
}

test('each node stands below what leads to it, its links once, and circles end', () => {
  const graph = flowGraph({
    events: [
      eventOf('shipped'),
      eventOf('paid', countsOf(1), { onSuccess: 'shipped', onFailure: 'refused' }),
      eventOf('refused', countsOf(1), { onComplete: 'paid' }),
      eventOf('lone'),
    ],
    workflows: [workflowOf('fulfil', [], { trigger: 'shipped', invokedBy: ['checkout'] }), workflowOf('checkout', [])],
    schedules: [{ name: 'nightly', service: 'shop', emit: 'shipped', processes: 1 }],
    serviceOf: new Map(),
  });
  expect(outline(flowBranches(graph))).toEqual([
    ' event lone',
    ' workflow checkout',
    '  invoke workflow fulfil',
    ' schedule nightly',
    '  schedule event shipped',
    '    trigger workflow fulfil again',
    ' event paid',
    '  success event shipped again',
    '  failure event refused',
    '    complete event paid again',
  ]);
});

test('sources with trouble come first and stay, and types without links are shown on request', async () => {
  const busy = { recent: recentOf(periodOf(300)) };
  const alone = Array.from({ length: 12 }, (_, index) => eventOf(`alone ${index}`, countsOf(300), busy));
  const ordered = eventOf('ordered', countsOf(300), { ...busy, onSuccess: 'paid' });
  const types = [...alone, eventOf('counted', countsOf(300), busy), ordered, eventOf('paid', countsOf(300), busy)];
  const api = createFakeApi([...types, failingOf('declined', 30, 10)]);
  const { introspection } = api;
  const due = { emit: 'counted', catchUp: 'last' as const, processes: 1, nextDueAt: SERVER_NOW + 60_000 };
  api.introspection = async (...args) => {
    const response = await introspection(...args);
    const schedules = [{ name: 'hourly', service: 'shop', ...due }];
    return { ...response, introspection: { ...response.introspection, schedules } };
  };
  const page = await openPage(api, '#/flow');
  await page.click(screen.getByRole('button', { name: 'List' }));
  const list = within(screen.getByRole('list', { name: 'Event types, workflows and schedules' }));
  const lines = (): (string | null)[] => list.getAllByRole('link').map(({ textContent }) => textContent);
  expect(lines()).toEqual([
    'declined, event8/min25.0% failed',
    'ordered, event1/s',
    'paid, eventon success1/s',
    'hourly, scheduleshopnext in 1 min',
    'counted, eventwhen due1/s',
  ]);
  // What begins to fail joins the list, and what has recovered stays where it was.
  api.events = [...types.slice(0, -1), failingOf('paid', 3, 3), eventOf('declined')];
  await page.poll();
  const names = (): (string | undefined)[] => lines().map((line) => line?.split(',')[0]);
  expect(names()).toEqual(['declined', 'ordered', 'paid', 'hourly', 'counted']);
  await page.click(screen.getByRole('button', { name: 'Show 12 without links' }));
  expect(names()).toHaveLength(17);
  expect(names()[0]).toBe('declined');
  page.close();
});

test('what is paused says so, beside what waits where there is room', async () => {
  const paused = { by: 'ada', reason: 'bank is down', since: SERVER_NOW };
  const events = ['linked', 'alone'].map((type) => eventOf(type, countsOf(0, 0, { pending: 4 }), { paused }));
  const page = await openPage(
    createFakeApi([...events, eventOf('first', countsOf(1), { onSuccess: 'linked' })]),
    '#/flow',
  );
  expect(screen.getByRole('link', { name: /^linked/ }).textContent).toBe('linked, eventpaused4 pending');
  expect(screen.getByRole('link', { name: /^alone/ }).textContent).toBe('alone, eventpaused');
  page.close();
});

test('a workflow shows how many of its runs are suspended, apart from those that are pending', async () => {
  const api = createFakeApi([eventOf('ordered', countsOf(300), { onSuccess: 'paid' }), eventOf('paid', countsOf(300))]);
  const { introspection } = api;
  api.introspection = async (...args) => {
    const response = await introspection(...args);
    const metrics = countsOf(0, 0, { pending: 5, suspended: 3 });
    const workflows = [workflowOf('fulfil', [], { metrics, trigger: 'paid' })];
    return { ...response, introspection: { ...response.introspection, workflows } };
  };
  const page = await openPage(api, '#/flow');
  expect(screen.getByText('suspended now')).toBeTruthy();
  expect(screen.getByRole('link', { name: 'fulfil , workflow 3 suspended 2 pending' })).toBeTruthy();
  await page.click(screen.getByRole('button', { name: 'List' }));
  expect(screen.getByText('suspended').className).toBe('');
  page.close();
});
