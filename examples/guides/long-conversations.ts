import type { Hub } from 'hubline';
import { type Agent, ConversationMemory, createAgent, type ModelProvider, summarizeWith } from 'hubline/agents';

/** Creates an agent whose conversations never end: old exchanges become a summary that a small model writes. */
export function createAdvisor(hub: Hub, provider: ModelProvider): Agent {
  const scribe = createAgent({
    name: 'scribe',
    systemPrompt: 'You keep the minutes of conversations.',
    provider,
    model: { model: 'gpt-4o-mini', maxTokens: 1_000 },
  });
  return createAgent({
    name: 'advisor',
    systemPrompt: 'You plan journeys.',
    provider,
    model: { model: 'gpt-4o' },
    memory: new ConversationMemory({
      transport: hub.transport,
      maxMessages: 60,
      maxTokens: 12_000,
      ttlSeconds: 30 * 86_400,
      compact: summarizeWith(scribe),
    }),
    contextTokens: 30_000,
  });
}
