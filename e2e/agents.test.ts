import { AxeBuilder } from '@axe-core/playwright';
import type { Hub } from 'hubline';
import type { AgentIntrospection, IntrospectionBody } from '../server/dashboard/protocol.js';
import { expect, test } from './fixtures.js';
import type { RunningDashboard } from './start-dashboard.js';

const triage: AgentIntrospection = {
  name: 'triage',
  description: 'Sorts tickets by what they are about.',
  model: 'small-1',
  tools: ['find_customer', 'find_order'],
  delegates: ['drafter'],
  runs: { completed: 12_482, failed: 12, max_iterations: 3, token_budget_exceeded: 1 },
  tokenUsage: { promptTokens: 1_204_331, completionTokens: 88_120, totalTokens: 1_292_451 },
};
const drafter: AgentIntrospection = { ...triage, name: 'drafter', delegates: [], runs: {}, tools: [] };

function registerTickets(hub: Hub): void {
  hub.event({ type: 'ticket.created', handler: () => {} });
}

/** Lets a dashboard answer as for a hub on which an agent handles its event type. */
function withAgents(dashboard: RunningDashboard): void {
  dashboard.front = ({ url }, res) => {
    if (url !== '/api/introspection') return false;
    void dashboard.hub.introspect().then((introspection) => {
      const body: IntrospectionBody = {
        protocol: 1,
        ...introspection,
        events: introspection.events.map((event) => ({ ...event, kind: 'agent', agent: triage })),
        agents: [triage, drafter],
      };
      res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    });
    return true;
  };
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme });

    test('agents are cards, linked with what they run for, and accessible', async ({ page, serve }) => {
      const dashboard = await serve({ register: registerTickets });
      withAgents(dashboard);
      await page.goto(dashboard.origin);
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Agents 2' }).click();
      await expect(page).toHaveURL(/#\/agents$/);
      const card = page.getByRole('article', { name: 'triage' });
      await expect(card).toContainText('small-1');
      await expect(card).toContainText('find_customer');
      await expect(card.getByTitle('12,482')).toHaveText('12.5K');
      await expect(card.getByTitle('1,292,451')).toHaveText('1.3M');
      const { violations } = await new AxeBuilder({ page })
        .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
        .analyze();
      expect(violations).toEqual([]);
      await card.getByRole('link', { name: 'ticket.created' }).click();
      await page.getByRole('complementary').getByRole('link', { name: 'agent triage' }).click();
      await expect(page).toHaveURL(/#\/agents\/triage$/);
      await expect(card).toBeInViewport();
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    });
  });
}
