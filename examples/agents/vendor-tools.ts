import { createAgent, type ModelAgent, type ModelProvider } from 'hubline/agents';

/** Creates an agent that answers with the web search of its vendor, such as `new AnthropicProvider({ apiKey })`. */
export function createResearcher(provider: ModelProvider): ModelAgent {
  return createAgent({
    name: 'researcher',
    systemPrompt: 'Answer with facts that you have looked up.',
    provider,
    model: { model: 'claude-sonnet-4-5', vendorTools: { webSearch: { maxUses: 3 }, codeExecution: true } },
  });
}

/** Returns an answer with the pages that it is based on. */
export async function research(agent: ModelAgent, question: string): Promise<string> {
  const { output, sources = [], vendorCalls = [] } = await agent.run(question);
  const pages = sources.flatMap((source) =>
    source.type === 'url' ? `- ${source.title ?? source.url}: ${source.url}` : [],
  );
  return [output, '', `${vendorCalls.length} calls of the vendor's tools. Sources:`, ...pages].join('\n');
}
