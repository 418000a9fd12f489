import { fireEvent, screen, within } from '@testing-library/preact';
import { afterEach, expect, test } from 'vitest';
import { createFakeApi, type FakeApi } from '../testing/fake-api.js';
import { openPage, type Page } from '../testing/open-page.js';
import { agentOf, countsOf, eventOf, SERVER_NOW, workflowOf } from '../testing/test-data.js';

let page: Page | undefined;

afterEach(() => {
  page?.close();
  page = undefined;
});

const triage = { name: 'triage', model: 'small-1', tools: ['find_order'], delegates: ['drafter'] };

function support(): FakeApi {
  const api = createFakeApi([
    eventOf('ticket.created', countsOf(7), { kind: 'agent', agent: triage }),
    eventOf('plan.debated', countsOf(1), { kind: 'debate' }),
  ]);
  api.workflows = [workflowOf('answer', [], { steps: [{ name: 'sort', kind: 'agent', agent: 'triage' }] })];
  api.agents = [
    agentOf('triage', {
      ...triage,
      description: 'Sorts tickets.',
      runs: { completed: 41, max_iterations: 2, 'a future status': 3 },
      tokenUsage: { promptTokens: 20_000, completionTokens: 400, totalTokens: 20_400 },
    }),
    agentOf('drafter'),
  ];
  return api;
}

/** Returns the text of each cell of an agent, by the label of its column. */
function cellsOf(agent: string): Record<string, string | null> {
  const cells = within(rowOf(agent)).getAllByRole('cell');
  return Object.fromEntries(cells.map((cell: HTMLElement) => [cell.dataset['label'] ?? '', cell.textContent]));
}

function rowOf(agent: string): HTMLElement {
  return screen.getByRole('row', { name: new RegExp(`^${agent}`) });
}

test('a row shows the runs, failures and tokens of an agent', async () => {
  const api = support();
  api.agents = [
    ...api.agents,
    agentOf('priced', {
      runs: { completed: 3, failed: 1 },
      tokenUsage: {
        promptTokens: 300,
        completionTokens: 100,
        totalTokens: 400,
        cachedTokens: 80,
        reasoningTokens: 20,
        cost: 1.5,
      },
      durationMs: { p50: 1, p95: 3_400, p99: 5_000, max: 6_000 },
      approvalsWaiting: 2,
      active: 1,
      suspended: 2,
      begun: 10,
      hours: [
        { at: SERVER_NOW - 30 * 3_600_000, runs: 1, tokens: 900, cost: 9 },
        { at: SERVER_NOW - 3_600_000, runs: 2, tokens: 100, cost: 0.25 },
        { at: SERVER_NOW, runs: 1, tokens: 200, cost: 1 },
      ],
      tokenBudget: 9_000,
      spendLimits: [
        { max: 5, perMs: 86_400_000, unit: 'cost', isKeyed: true },
        { max: 2_000_000, perMs: 3_600_000, unit: 'tokens' },
      ],
    }),
  ];
  page = await openPage(api, '#/agents');
  expect(cellsOf('triage')).toEqual({
    Model: 'small-1',
    Runs: '462 max iterations3 a future status',
    'Failure rate': '0%',
    Tokens: '20.4K98.1% of all agents',
    'Tokens per run': '443',
    Cost: '—',
    'Running p95': '—',
    Approvals: '—',
    'Used by': 'ticket.created, answer: sort',
  });
  expect(cellsOf('priced')).toMatchObject({
    Runs: '41 running2 suspended1 failed',
    'Failure rate': '25.0%',
    Tokens: '4001.9% of all agentslimit 2M per 1 h',
    'Tokens per run': '408 cached2 reasoningbudget 9,000',
    Cost: '1.50limit 5.00 per 1 d and key',
    'Running p95': '~3.4 s',
    Approvals: '2',
  });
  expect(screen.getByText('Sorts tickets.')).toBeTruthy();
  expect(screen.getByText('Tools: find_order')).toBeTruthy();
});

test('the tokens, cost and runs of all agents stand by the hour, and the columns sort', async () => {
  const api = createFakeApi([]);
  const used = (tokens: number, cost: number) => ({
    hours: [{ at: SERVER_NOW - 3_600_000, runs: 2, tokens, cost }],
    tokenUsage: { promptTokens: tokens, completionTokens: 0, totalTokens: tokens, cost },
  });
  api.agents = [agentOf('small', used(10, 7)), agentOf('large', used(90, 1)), agentOf('none')];
  page = await openPage(api, '#/agents');
  const names = (): (string | null)[] => screen.getAllByRole('rowheader').map(({ textContent }) => textContent);
  expect(names()).toEqual(['large', 'small', 'none']);
  await page.click(within(screen.getByRole('columnheader', { name: /^Cost/ })).getByRole('button'));
  expect(names()).toEqual(['small', 'large', 'none']);
  await page.click(within(screen.getByRole('columnheader', { name: /^Cost/ })).getByRole('button'));
  expect(names()).toEqual(['large', 'small', 'none']);
  await page.click(screen.getByRole('button', { name: 'Agent' }));
  expect(names()).toEqual(['large', 'none', 'small']);
  expect(screen.getByRole('img', { name: 'Tokens per hour, at most 100 tokens' })).toBeTruthy();
  expect(screen.getByRole('heading', { name: 'Tokens per hour 24 h: 100 tokens · 3 agents' })).toBeTruthy();
  await page.click(screen.getByRole('button', { name: 'Runs', pressed: false }));
  expect(screen.getByRole('img', { name: 'Runs per hour, at most 4 runs' })).toBeTruthy();
});

test('a row links to delegates and users, and an event links to its agent', async () => {
  page = await openPage(support(), '#/agents');
  const links = within(rowOf('triage')).getAllByRole('link');
  expect(links.map((link: HTMLElement) => [link.textContent, link.getAttribute('href')])).toEqual([
    ['triage', '#/agents/triage'],
    ['drafter', '#/agents/drafter'],
    ['ticket.created', '#/events/ticket.created'],
    ['answer: sort', '#/workflows/answer'],
  ]);
  page.close();
  page = await openPage(support(), '#/events/ticket.created');
  const panel = within(screen.getByRole('complementary', { name: 'ticket.created' }));
  expect(panel.getByRole('link', { name: 'agent triage' }).getAttribute('href')).toBe('#/agents/triage');
  expect(panel.getByText('small-1')).toBeTruthy();
});

test('a row names the agents that take conversations over apart from the delegates', async () => {
  const api = support();
  api.agents = [agentOf('reception', { delegates: ['drafter', 'billing'], handoffs: ['billing'] })];
  page = await openPage(api, '#/agents');
  const { textContent } = within(rowOf('reception')).getByRole('rowheader');
  expect(textContent).toContain('Delegates to drafterHands over to billing');
});

test('the events table shows which types an agent or a debate handles', async () => {
  page = await openPage(support());
  expect(screen.getByRole('rowheader', { name: /plan\.debated/ }).textContent).toBe('plan.debateddebate');
  expect(screen.getByRole('rowheader', { name: /ticket\.created/ }).textContent).toBe('ticket.createdagent');
});

test('a hub without agents shows the next step', async () => {
  page = await openPage(createFakeApi(), '#/agents');
  expect(screen.getByText('No agents yet')).toBeTruthy();
  expect(screen.getByText('agent.asHandler()')).toBeTruthy();
});

test('the search finds an agent by its name, from any view', async () => {
  page = await openPage(support(), '#/schedules');
  await page.press('/');
  expect(location.hash).toBe('#/');
  await page.pass(1);
  expect(document.activeElement).toBe(screen.getByRole('searchbox'));
  fireEvent.input(screen.getByRole('searchbox'), { target: { value: 'triage' } });
  await page.pass(0);
  await page.click(screen.getByRole('button', { name: 'Show it in Agents' }));
  expect(location.hash).toBe('#/agents/triage');
});

test('the only agent of a hub is open', async () => {
  const api = createFakeApi([]);
  api.agents = [agentOf('support')];
  page = await openPage(api, '#/agents');
  await page.poll();
  expect(screen.getByRole('heading', { name: /^Recent runs of support/ })).toBeTruthy();
});

test('the order of a single agent is no choice', async () => {
  const api = support();
  page = await openPage(api, '#/agents');
  expect(screen.getByRole('combobox', { name: 'Sort by' })).toBeTruthy();
  api.agents = api.agents.slice(0, 1);
  await page.poll();
  expect(screen.queryByRole('combobox', { name: 'Sort by' })).toBeNull();
});

test('a run that used many times the tokens of the others says so', async () => {
  const api = createFakeApi([]);
  api.agents = [agentOf('support')];
  const runs = [10, 20, 20, 900, 1].map((totalTokens, index) => ({
    id: `run-${index}`,
    kind: 'event' as const,
    type: 'ticket.opened',
    service: 'shop',
    requestId: `run-${index}`,
    step: '',
    status: totalTokens === 1 ? ('active' as const) : ('completed' as const),
    turns: 1,
    toolCalls: 0,
    usage: { promptTokens: totalTokens, completionTokens: 0, totalTokens },
    startedAt: SERVER_NOW,
    lastAt: SERVER_NOW,
  }));
  const { agentRuns } = api;
  api.agentRuns = async (...request) => ({ ...(await agentRuns(...request)), runs });
  page = await openPage(api, '#/agents');
  await page.poll();
  expect(screen.getAllByText(/× the median$/).map(({ textContent }) => textContent)).toEqual(['45 × the median']);
});
