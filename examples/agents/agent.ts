import { createAgent, createTool, OpenAIProvider } from 'hubline';

const { OPENAI_API_KEY = '', OPENAI_BASE_URL = 'https://api.openai.com/v1', MODEL = 'gpt-4o-mini' } = process.env;

const time = createTool({
  name: 'time',
  description: 'The time now in a time zone such as Europe/Oslo',
  parameters: { type: 'object', properties: { timeZone: { type: 'string' } }, required: ['timeZone'] },
  execute: async ({ timeZone }: { timeZone: string }) => new Date().toLocaleTimeString('en-GB', { timeZone }),
});
const agent = createAgent({
  name: 'clock',
  systemPrompt: 'You answer in one sentence.',
  provider: new OpenAIProvider({ apiKey: OPENAI_API_KEY, baseUrl: OPENAI_BASE_URL }),
  model: { model: MODEL },
  tools: [time],
  tokenBudget: 5_000,
});

const { status, output, error, tokenUsage } = await agent.run('What time is it in Bergen?');
console.log(`${status}, ${tokenUsage.totalTokens} tokens: ${error?.message ?? output}`);
