import { InvalidOptionError } from 'hubline';
import { createAgent } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';

const usage = { promptTokens: 900, completionTokens: 200, totalTokens: 1_100 };
const provider = scriptedProvider([{ toolCalls: [{ name: 'noop' }], usage }, 'never asked']);
const agent = createAgent({
  name: 'writer',
  systemPrompt: 'You write.',
  provider,
  model: { model: 'script' },
  tools: [{ name: 'noop', description: 'Does nothing', parameters: { type: 'object' }, execute: async () => 'done' }],
  tokenBudget: 1_000,
});
const { status, budget, tokenUsage } = await agent.run('Write a novel.');
console.log(`${status} (${budget}) after ${provider.calls.length} call and ${tokenUsage.totalTokens} tokens`);

try {
  createAgent({
    name: 'writer',
    systemPrompt: 'You write.',
    provider,
    model: { model: 'unknown' },
    costBudget: 0.05,
  });
} catch (error) {
  console.log(error instanceof InvalidOptionError ? error.message : error);
}
