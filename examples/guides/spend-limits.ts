import { createHub, type Hub, type HubOptions } from 'hubline';
import { createAgent, type ModelProvider } from 'hubline/agents';
import { z } from 'zod';

const question = z.object({ tenant: z.string(), text: z.string() });
const dayMs = 86_400_000;

/** Creates a hub whose agent spends at most 5 dollars per tenant and day, and 2,000,000 tokens per hour in all. */
export function createSupport(provider: ModelProvider, options?: HubOptions): Hub {
  const hub = createHub(options);
  const agent = createAgent({
    name: 'support',
    systemPrompt: 'You answer questions.',
    provider,
    model: { model: 'gpt-4o-mini', maxTokens: 1_000 },
    prices: { 'gpt-4o-mini': { input: 0.15, output: 0.6 } },
    spendLimits: [
      { max: 5, perMs: dayMs, unit: 'cost', key: (payload) => question.parse(payload).tenant },
      { max: 2_000_000, perMs: 3_600_000, unit: 'tokens' },
    ],
  });
  hub.event({
    type: 'question.asked',
    schema: question,
    handler: agent.asHandler({ input: (payload) => question.parse(payload).text }),
    retry: { maxAttempts: 3 },
  });
  return hub;
}

/** Returns what a tenant has spent in the last day, and what is left, in dollars. */
export async function spentBy(hub: Hub, tenant: string): Promise<string> {
  const limits = await hub.spend({ agent: 'support', key: tenant });
  const { spent = 0, left = 0 } = limits.find(({ key }) => key === tenant) ?? {};
  return `${tenant}: $${spent.toFixed(4)} spent, $${left.toFixed(4)} left`;
}
