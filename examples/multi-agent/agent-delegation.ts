import { type Agent, createAgent, createAgentRegistry, type ModelProvider } from 'hubline/agents';

/** Creates an editor that can delegate to a researcher and a critic. */
export function createEditor(providers: {
  editor: ModelProvider;
  researcher: ModelProvider;
  critic: ModelProvider;
}): Agent {
  const registry = createAgentRegistry();
  const model = { model: 'claude-sonnet-4-5' };
  registry.register(
    createAgent({
      name: 'researcher',
      description: 'Finds facts and names their sources',
      systemPrompt: 'You find facts. Answer in a list.',
      provider: providers.researcher,
      model,
    }),
  );
  registry.register(
    createAgent({
      name: 'critic',
      description: 'Finds mistakes and gaps in a text',
      systemPrompt: 'You find mistakes. Be strict.',
      provider: providers.critic,
      model,
    }),
  );
  return createAgent({
    name: 'editor',
    systemPrompt: 'You write short articles. Delegate research first, then have your text reviewed.',
    provider: providers.editor,
    model,
    registry,
    // For all three agents together.
    tokenBudget: 50_000,
  });
}
