import {
  type Agent,
  AnthropicProvider,
  createAgent,
  fallbackProvider,
  type ModelProvider,
  OpenAIProvider,
} from 'hubline/agents';

/** Returns a provider that calls OpenAI while Anthropic is overloaded, unreachable or out of quota. */
export function createProvider(anthropicKey: string, openAiKey: string): ModelProvider {
  return fallbackProvider([
    { provider: new AnthropicProvider({ apiKey: anthropicKey }) },
    { provider: new OpenAIProvider({ apiKey: openAiKey }), model: { model: 'gpt-4o-mini' } },
  ]);
}

/** Creates an agent whose runs cost at most 5 cents each. Prices are per million tokens, in dollars. */
export function createWriter(provider: ModelProvider): Agent {
  return createAgent({
    name: 'writer',
    systemPrompt: 'You write product descriptions.',
    provider,
    model: { model: 'claude-haiku-4-5', cache: true },
    prices: {
      'claude-haiku-4-5': { input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25 },
      'gpt-4o-mini': { input: 0.15, output: 0.6, cachedInput: 0.075 },
    },
    costBudget: 0.05,
    retry: { maxAttempts: 2 },
  });
}

/** Returns the text and its cost. */
export async function write(writer: Agent, product: string): Promise<string> {
  const { status, output, cost = 0 } = await writer.run(`Describe ${product}.`);
  return `${output} (${status}, $${cost.toFixed(4)})`;
}
