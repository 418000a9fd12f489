import type { Hub } from 'hubline';
import { type Agent, type AgentRunResult, createAgent, createAgentRegistry } from 'hubline/agents';
import type { AgentModels } from './models.js';
import { simulateWork } from './simulate.js';
import { answerAsCourierDesk, answerAsSupport } from './support-rules.js';
import { lookUpOrder, refund, trackParcel } from './support-tools.js';

/** An agent that answers tickets; it looks orders up, refunds, and asks the courier desk about parcels. */
export function createSupportAgent({ modelFor }: AgentModels): Agent {
  const registry = createAgentRegistry();
  registry.register(
    createAgent({
      name: 'courier-desk',
      description: 'Knows where parcels are',
      systemPrompt: 'You track parcels. Say in one sentence where the parcel is.',
      ...modelFor(answerAsCourierDesk),
      tools: [trackParcel],
    }),
  );
  return createAgent({
    name: 'support',
    description: 'Answers customers',
    systemPrompt:
      'You answer customers of a tea shop, in two sentences at most. Look the order up first. Refund what arrived broken. Have the courier desk find parcels that are late.',
    ...modelFor(answerAsSupport),
    tools: [lookUpOrder, refund],
    registry,
    tokenBudget: 20_000,
  });
}

/** Tickets, answered by an agent. */
export function registerSupport(hub: Hub, models: AgentModels): void {
  hub.event({
    type: 'ticket.opened',
    description: 'A customer has asked something. The support agent answers.',
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
    description: 'The agent could not answer: somebody has to. A signal: nothing in the shop handles it.',
  });
}
