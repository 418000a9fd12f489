import {
  type Agent,
  createAgent,
  createAgentRegistry,
  createTool,
  type ModelProvider,
  type Tool,
} from 'hubline/agents';

/** Creates the tool. It fetches pages of these origins only. */
function createSummarise(origins: readonly string[]): Tool {
  return createTool({
    name: 'summarise',
    description: 'Summarises the pages at these URLs',
    parameters: {
      type: 'object',
      properties: { urls: { type: 'array', items: { type: 'string' }, maxItems: 10 } },
      required: ['urls'],
    },
    execute: async ({ urls }: { urls: string[] }, { delegate, signal }) =>
      Promise.all(
        urls.map(async (url) => {
          // A page can make the model name any address, such as one in your network.
          if (!origins.includes(new URL(url).origin)) throw new Error('this address is not allowed');
          const page = await fetch(url, { signal, redirect: 'error' });
          const { status, output } = await delegate('summariser', await page.text());
          return status === 'completed' ? output : `no summary of ${url}: ${status}`;
        }),
      ),
  });
}

/** Creates a reporter with a tool that delegates each page to another agent. */
export function createReporter(provider: ModelProvider, origins: readonly string[]): Agent {
  const registry = createAgentRegistry();
  const model = { model: 'gpt-4o-mini' };
  registry.register(
    createAgent({
      name: 'summariser',
      systemPrompt: 'Summarise in one sentence.',
      provider,
      model,
      tokenBudget: 4_000,
    }),
  );
  return createAgent({
    name: 'reporter',
    systemPrompt: 'You report on what pages say.',
    provider,
    model,
    tools: [createSummarise(origins)],
    registry,
  });
}
