import { type Agent, createAgent, createAgentRegistry, type ModelProvider } from 'hubline/agents';

/** An editor that has a researcher and a critic to delegate to. */
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
      description: 'Finds facts and says where they are from',
      systemPrompt: 'You find facts. Answer in a list.',
      provider: providers.researcher,
      model,
    }),
  );
  registry.register(
    createAgent({
      name: 'critic',
      description: 'Finds what is wrong or missing in a text',
      systemPrompt: 'You find mistakes. Be strict.',
      provider: providers.critic,
      model,
    }),
  );
  return createAgent({
    name: 'editor',
    systemPrompt: 'You write short articles. Have facts found first, and have your text criticised.',
    provider: providers.editor,
    model,
    registry,
    // For all three together.
    tokenBudget: 50_000,
  });
}
