import { createAgent, createTool, type ModelAgent, type ModelProvider } from 'hubline/agents';

const weather = createTool({
  name: 'weather',
  description: 'Current weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
    required: ['city'],
    additionalProperties: false,
  },
  timeoutMs: 5_000,
  execute: async ({ city, unit = 'celsius' }: { city: string; unit?: string }) => {
    // A real tool calls a weather service here.
    return { city, unit, degrees: unit === 'celsius' ? 12 : 54, sky: 'rain' };
  },
});

/** An agent that looks the weather up before it answers. */
export function createForecaster(provider: ModelProvider): ModelAgent {
  return createAgent({
    name: 'forecaster',
    description: 'Knows the weather',
    systemPrompt: 'You answer questions about the weather in one sentence.',
    provider,
    model: { model: 'gpt-4o-mini', temperature: 0 },
    tools: [weather],
    tokenBudget: 20_000,
    retry: { maxAttempts: 3 },
  });
}
