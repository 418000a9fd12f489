import type { Hub } from 'hubline';
import { ConversationMemory, createAgent, type ModelProvider } from 'hubline/agents';

/** Creates a chat with one conversation per visitor. The hub's transport stores it for a week. */
export function createChat(hub: Hub, provider: ModelProvider): (visitor: string, text: string) => Promise<string> {
  const agent = createAgent({
    name: 'host',
    systemPrompt: 'You are a friendly host.',
    provider,
    model: { model: 'gpt-4o-mini' },
    memory: new ConversationMemory({ transport: hub.transport, maxMessages: 40, ttlSeconds: 7 * 86_400 }),
  });
  return async (visitor, text) => {
    const { output, error } = await agent.run(text, { conversationId: visitor });
    if (error !== undefined) throw error;
    return output;
  };
}
