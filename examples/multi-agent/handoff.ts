import {
  type AgentMemory,
  createAgent,
  createAgentRegistry,
  type ModelAgent,
  type ModelProvider,
} from 'hubline/agents';

/** Creates an agent that receives customers, and hands them over to the agent that can help. */
export function createReception(provider: ModelProvider, memory: AgentMemory): ModelAgent {
  const registry = createAgentRegistry();
  const model = { model: 'gpt-4o-mini' };
  const reception = createAgent({
    name: 'reception',
    description: 'Finds out what the customer needs',
    systemPrompt: 'Find out what the customer needs, and hand over to the agent that can help.',
    provider,
    model,
    registry,
    memory,
  });
  const billing = createAgent({
    name: 'billing',
    description: 'Invoices and refunds',
    systemPrompt: 'You help with invoices and refunds. Hand anything else back to the reception.',
    provider,
    model,
    registry,
  });
  for (const agent of [reception, billing]) registry.register(agent, { handoff: true });
  return reception;
}
