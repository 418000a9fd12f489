import { screen, within } from '@testing-library/preact';
import { expect, test } from 'vitest';
import type { RunIntrospection } from '../../server/dashboard/protocol.js';
import { createFakeApi, type FakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { agentOf, countsOf, eventOf, recentOf, runOf, SERVER_NOW, workflowOf } from '../testing/test-data.js';

function shop(): FakeApi {
  const api = createFakeApi([eventOf('order.paid', countsOf(7))]);
  api.workflows = [
    workflowOf('fulfil', ['pick', 'ship'], {
      trigger: 'order.paid',
      onFailure: 'order.stuck',
      metrics: countsOf(5, 1, { pending: 1 }),
      runs: [
        runOf('run-3', 'active', [
          ['pick', 'completed', 12],
          ['ship', 'active'],
        ]),
        runOf('run-2', 'failed', [['pick', 'failed']], {
          endedAt: SERVER_NOW,
          error: { name: 'FatalError', message: 'nothing left' },
        }),
        runOf('run-1', 'completed', [['pick', 'completed', 5]], { endedAt: SERVER_NOW }),
      ],
    }),
    workflowOf('onboard', ['greet']),
  ];
  return api;
}

/** Returns the text of each node in the graph of a workflow. */
function graph(name: string): (string | null)[] {
  const items = within(screen.getByRole('list', { name: `${name}, from start to end` })).getAllByRole('listitem');
  return items.map((item: HTMLElement) => item.textContent);
}

test('a graph lists the trigger, the steps and the follow-up events', async () => {
  const page = await openPage(shop(), '#/workflows/fulfil');
  expect(graph('fulfil')).toEqual([
    'Triggerorder.paid',
    'pick9 msFailure rate: 33.3%',
    'ship—Running: 1',
    'On failureorder.stuck',
  ]);
  expect(screen.getByRole('link', { name: 'order.paid' }).getAttribute('href')).toBe('#/events/order.paid');
  page.close();
  await openPage(shop(), '#/workflows/onboard');
  expect(graph('onboard')).toEqual(['greet—']);
});

test('the row of a workflow has the trend of its runs', async () => {
  const api = createFakeApi([]);
  api.workflows = [
    workflowOf('fulfil', [], { recent: { ...recentOf(), minutes: { received: [3, 1], failed: [0, 1] } } }),
    workflowOf('onboard', [], { recent: recentOf() }),
  ];
  const page = await openPage(api, '#/workflows');
  const barsOf = (name: string): number[] =>
    [...screen.getByRole('row', { name: new RegExp(name) }).querySelectorAll('path')].flatMap((path) =>
      path.matches('.trend > *') ? [(path.getAttribute('d') ?? '').split('M').length - 1] : [],
    );
  expect(barsOf('fulfil')).toEqual([1, 1]);
  expect(barsOf('onboard')).toEqual([0, 0]);
  page.close();
});

test.each([
  ['41 active3 suspended', '0', countsOf(9, 0, { pending: 4, active: 1, suspended: 3 })],
  ['2all suspended', '21 cancelled', countsOf(9, 2, { pending: 2, suspended: 2, cancelled: 1 })],
])('what is pending is one count, with its parts: %s', async (pending, failed, metrics) => {
  const api = createFakeApi([]);
  api.workflows = [workflowOf('fulfil', [], { metrics })];
  await openPage(api, '#/workflows/fulfil');
  expect(screen.getByText('Pending now').nextSibling?.textContent).toBe(pending);
  expect(screen.getByText('Failed', { selector: 'dt' }).nextSibling?.textContent).toBe(failed);
});

test('a table lists the workflows, those with problems first', async () => {
  const api = shop();
  const problem = { kind: 'failing', severity: 'error', workflow: 'onboard', failed: 2, ended: 8 } as const;
  api.health = { status: 'failing', problems: [problem], problemCount: 1 };
  api.workflows = [
    ...api.workflows,
    workflowOf('bill', [], {
      metrics: countsOf(9, 2, { pending: 5, active: 1, suspended: 3 }),
      recent: recentOf({ received: 12, completed: 6, failed: 3, cancelled: 1, retried: 0 }),
      runs: [
        runOf('run-2', 'suspended', []),
        runOf('run-1', 'completed', [], { acceptedAt: SERVER_NOW - 9_000, endedAt: SERVER_NOW - 2_000 }),
      ],
    }),
  ];
  await openPage(api, '#/workflows');
  const names = screen.getAllByRole('rowheader').map(({ textContent }) => textContent);
  expect(names).toEqual([expect.stringMatching(/^onboard2 of 8 ended runs failed in 5 min/), 'fulfil', 'bill Failing']);
  const cells = within(screen.getByRole('row', { name: /^bill/ })).getAllByRole('cell');
  expect(cells.map(({ textContent }) => textContent)).toEqual([
    ...['', '12', '2', '25.0%'],
    // Waiting, suspended and running runs do not overlap.
    ...['1', '3', '1'],
    ...['7 s', 'Suspended 5 s ago'],
  ]);
});

test('an open workflow shows all recent runs, and Escape closes it', async () => {
  const page = await openPage(shop(), '#/workflows/fulfil');
  expect(screen.queryByText('onboard')).toBeNull();
  const runs = within(screen.getByRole('list', { name: 'Recent runs' }));
  expect(runs.getAllByRole('link').map((link: HTMLElement) => link.textContent)).toEqual(['run-2', 'run-3', 'run-1']);
  for (const text of [/nothing left/, 'pick: completed, 12 ms', 'ship: running, 4.99 s']) {
    expect(runs.getByText(text)).toBeTruthy();
  }
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
  await page.pass(0);
  expect(location.hash).toBe('#/workflows');
  expect(screen.getByText('onboard')).toBeTruthy();
});

test('an event links to the workflows that it starts', async () => {
  await openPage(shop(), '#/events/order.paid');
  const panel = within(screen.getByRole('complementary', { name: 'order.paid' }));
  expect(panel.getByRole('link', { name: 'fulfil' }).getAttribute('href')).toBe('#/workflows/fulfil');
});

test('a step that runs an agent links to it', async () => {
  const api = shop();
  api.agents = [agentOf('triage')];
  api.workflows = [workflowOf('support', [], { steps: [{ name: 'sort', kind: 'agent', agent: 'triage' }] })];
  await openPage(api, '#/workflows/support');
  expect(screen.getByRole('link', { name: 'agent' }).getAttribute('href')).toBe('#/agents/triage');
});

test('the navigation shows all views with their counts', async () => {
  const api = shop();
  api.hub = { processes: 3 };
  const page = await openPage(api);
  const links = (): (string | null)[] =>
    within(screen.getByRole('navigation', { name: 'Views' }))
      .getAllByRole('link')
      .map((link: HTMLElement) => link.textContent);
  expect(links()).toEqual([
    'Events 1',
    'Errors ',
    'Flow ',
    'Workflows 2',
    'Agents 0',
    'Waits ',
    'Schedules 0',
    'Processes ',
  ]);
  api.workflows = [];
  const problem = { kind: 'approval-waiting', severity: 'warning', workflow: 'gone', count: 2 } as const;
  api.health = { status: 'degraded', problems: [problem], problemCount: 1 };
  await page.poll();
  expect(links()).toEqual([
    'Events 1',
    'Errors ',
    'Flow ',
    'Workflows 0',
    'Agents 0',
    'Waits 2 approvals',
    'Schedules 0',
    'Processes ',
  ]);
});

test('says that a workflow is unknown or that there are none', async () => {
  const api = shop();
  const page = await openPage(api, '#/workflows/gone');
  expect(screen.getByRole('alert').textContent).toContain('Not found among the workflows: ');
  api.workflows = [];
  await page.poll();
  expect(screen.getByText('No workflows yet')).toBeTruthy();
  expect(screen.getByText('hub.workflow')).toBeTruthy();
});

test('a run says how many events it received and dropped', async () => {
  const api = createFakeApi([]);
  const run = (id: string, dropped: number): RunIntrospection =>
    runOf(id, 'suspended', [], { inbox: { kept: 1_000, dropped } });
  api.workflows = [workflowOf('fulfil', [], { runs: [run('a', 12), run('b', 0)] })];
  await openPage(api, '#/workflows/fulfil');
  expect(screen.getAllByText(/dropped/).map(({ textContent }) => textContent)).toEqual([
    '12 received events were dropped: a run keeps at most 1,000 events and 1 MiB',
  ]);
});
