import type { Hub } from 'hubline';
import { type Agent, type AgentRunResult, createAgent, createAgentRegistry } from 'hubline/agents';
import type { AgentModels } from './models.js';
import { simulateWork } from './simulate.js';
import { answerAsCourierDesk, answerAsSupport } from './support-rules.js';
import { lookUpOrder, refund, trackParcel } from './support-tools.js';

/** Creates an agent that answers tickets: it looks up orders, refunds, and delegates parcels to the courier desk. */
export function createSupportAgent({ modelFor }: AgentModels): Agent {
  const registry = createAgentRegistry();
  registry.register(
    createAgent({
      name: 'courier-desk',
      description: 'Finds parcels',
      systemPrompt: 'You track parcels. Say in one sentence where the parcel is.',
      ...modelFor(answerAsCourierDesk),
      tools: [trackParcel],
    }),
  );
  return createAgent({
    name: 'support',
    description: 'Answers customers',
    systemPrompt:
      'You answer customers of a tea shop, in two sentences at most. Look up the order first. Refund items that arrived broken. Delegate late parcels to the courier desk.',
    ...modelFor(answerAsSupport),
    tools: [lookUpOrder, refund],
    registry,
    tokenBudget: 20_000,
  });
}

/** Registers tickets, which an agent answers. */
export function registerSupport(hub: Hub, models: AgentModels): void {
  hub.event({
    type: 'ticket.opened',
    description: 'A customer asks a question. The support agent answers.',
    handler: createSupportAgent(models).asHandler(),
    concurrency: 2,
    retry: { maxAttempts: 2 },
    timeoutMs: 60_000,
    onSuccess: 'ticket.answered',
    onFailure: 'ticket.escalated',
  });
  hub.event<AgentRunResult>({
    type: 'ticket.answered',
    description: 'Sends the answer.',
    handler: ({ signal }) => simulateWork(signal, 20, 150),
  });
  hub.event({
    type: 'ticket.escalated',
    description: 'The agent could not answer, a person must. Declared only: no handler in the shop.',
  });
}
