import { createAgent, createAgentRegistry, createPipeline, createTool, type Hub } from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import { built } from '../../scripts/page/built-classes.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventRow, expectCounts, expectNoOverflow, openView } from '../testing/page-parts.js';

/** Registers an agent that handles an event type, and a pipeline of two agents, all with scripted responses. */
function registerSupport(hub: Hub): void {
  const registry = createAgentRegistry();
  const triage = createAgent({
    name: 'triage',
    description: 'Sorts tickets by what they are about.',
    systemPrompt: 'Sort.',
    provider: scriptedProvider([
      { content: 'urgent', usage: { promptTokens: 12_000, completionTokens: 345, totalTokens: 12_345 } },
      { error: new Error('the model is unavailable') },
    ]),
    model: { model: 'small-1' },
    registry,
    tools: [
      createTool({
        name: 'find_order',
        description: 'Finds an order.',
        parameters: { type: 'object' },
        execute: async () => null,
      }),
    ],
  });
  const drafter = createAgent({
    name: 'drafter',
    systemPrompt: 'Write.',
    provider: scriptedProvider([]),
    model: { model: 'large-2' },
  });
  registry.register(triage);
  registry.register(drafter);
  hub.event({ type: 'ticket.created', handler: triage.asHandler() });
  hub.workflow(createPipeline({ name: 'answer', steps: [{ agent: triage }, { agent: drafter }] }));
}

test('agents are rows with runs and tokens that link to their users', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerSupport });
  await page.goto(`${origin}/#/?every=1`);
  await hub.emit('ticket.created', 'Where is my order?');
  await expectCounts(eventRow(page, 'ticket.created'), 1, 0);
  await hub.emit('ticket.created', 'And now?');
  await expectCounts(eventRow(page, 'ticket.created'), 2, 1);
  await expect(eventRow(page, 'ticket.created').getByRole('rowheader')).toContainText('agent');

  await openView(page, 'Agents');
  const card = page.locator(built('.agents-table tr'), { hasText: 'triage' }).first();
  for (const text of ['Sorts tickets', 'small-1', 'find_order', 'drafter']) await expect(card).toContainText(text);
  await expect(card.locator('[data-label="Runs"]')).toHaveText('21 failed');
  await expect(card.locator('[data-label="Failure rate"]')).toHaveText('50.0%');
  await expect(card.locator('[data-label="Tokens per run"]')).toHaveText('6,173');
  await expectAccessible(page);

  await card.getByRole('link', { name: 'ticket.created' }).click();
  await page.getByRole('complementary').getByRole('link', { name: 'agent triage' }).click();
  await expect(page).toHaveURL(/#\/agents\/triage/);
  await expect(card).toBeInViewport();
  await expectNoOverflow(page);
});

test('a pipeline step links to its agent, and the agent to its steps', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin } = await serve({ register: registerSupport });
  await page.goto(`${origin}/#/workflows/answer`);
  const steps = page.getByRole('list', { name: 'answer, from start to end' }).getByRole('listitem');
  await steps
    .filter({ hasText: /^triage/ })
    .getByRole('link', { name: 'agent' })
    .click();
  await expect(page).toHaveURL(/#\/agents\/triage$/);
  await page
    .locator(built('.agents-table tr'), { hasText: /^triage/ })
    .getByRole('link', { name: /^answer: / })
    .click();
  await expect(page.getByRole('article', { name: 'answer' })).toBeVisible();
});
