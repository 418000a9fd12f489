import { screen, within } from '@testing-library/preact';
import { afterEach, expect, test } from 'vitest';
import { createFakeApi, type FakeApi } from '../testing/fake-api.js';
import { openPage, type Page } from '../testing/open-page.js';
import { agentOf, countsOf, eventOf, workflowOf } from '../testing/test-data.js';

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

function factsOf(agent: string): Record<string, string | null> {
  const card = screen.getByRole('article', { name: agent });
  const pairs = [...card.querySelectorAll('dl > div')].map((pair) => [
    pair.querySelector('dt')?.textContent,
    pair.querySelector('dd')?.textContent,
  ]);
  return Object.fromEntries(pairs);
}

test('a card shows the configuration, run counts and token usage of an agent', async () => {
  page = await openPage(support(), '#/agents');
  expect(factsOf('triage')).toMatchObject({
    Completed: '41',
    Failed: '0',
    'Max iterations': '2',
    'a future status': '3',
    Tokens: '20.4K',
    'Token usage': '20K prompt400 completion',
    Model: 'small-1',
    Tools: 'find_order',
  });
  expect(screen.getByText('Sorts tickets.')).toBeTruthy();
  expect(factsOf('drafter')).not.toHaveProperty('Tools');
});

test('a card links to delegates and users, and an event links to its agent', async () => {
  page = await openPage(support(), '#/agents');
  const card = within(screen.getByRole('article', { name: 'triage' }));
  expect(card.getAllByRole('link').map((link: HTMLElement) => [link.textContent, link.getAttribute('href')])).toEqual([
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
