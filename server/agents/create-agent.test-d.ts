import { expectTypeOf } from 'vitest';
import type { AgentRunResult } from './agent/agent-run-result.js';
import type { AgentStreamEvent } from './agent/agent-stream.js';
import { createAgent } from './create-agent.js';
import { createDebate } from './debates/create-debate.js';
import type { DebateResult } from './debates/debate-result.js';
import type { ModelProvider } from './model/model-provider.js';
import type { TokenUsage } from './model/token-usage.js';
import { createPipeline } from './pipelines/create-pipeline.js';
import { createTool } from './tools/tool.js';

declare const provider: ModelProvider;
const required = { name: 'a', systemPrompt: '', provider, model: { model: 'm' } };
const agent = createAgent(required);

// Tools with different inputs share one list.
createAgent({
  ...required,
  tools: [
    createTool({ name: 'a', description: '', parameters: {}, execute: async ({ a }: { a: number }) => a }),
    createTool({ name: 'b', description: '', parameters: {}, execute: async ({ b }: { b: string }) => b }),
  ],
  onTokenUsage: (usage) => expectTypeOf(usage).toEqualTypeOf<TokenUsage>(),
  retry: { maxAttempts: 2 },
});

// @ts-expect-error `provider` is required
createAgent({ name: 'a', systemPrompt: '', model: { model: 'm' } });

// @ts-expect-error a misspelt option
createAgent({ ...required, maxIteration: 3 });

// @ts-expect-error a model is an object
createAgent({ ...required, model: 'm' });

// @ts-expect-error a misspelt option of the model
createAgent({ ...required, model: { model: 'm', max_tokens: 5 } });

expectTypeOf(agent.run('x')).toEqualTypeOf<Promise<AgentRunResult>>();
expectTypeOf(agent.stream('x').result).toEqualTypeOf<Promise<AgentRunResult>>();
expectTypeOf((await agent.run('x')).status).toEqualTypeOf<
  'completed' | 'failed' | 'max_iterations' | 'token_budget_exceeded'
>();

// @ts-expect-error the input is a string
void agent.run({ question: 'x' });

// @ts-expect-error a misspelt option
void agent.run('x', { requestid: 'r' });

for await (const event of agent.stream('x')) {
  expectTypeOf(event).toEqualTypeOf<AgentStreamEvent>();
  if (event.type === 'text-delta') expectTypeOf(event.text).toBeString();
  if (event.type === 'run-end') expectTypeOf(event.result).toEqualTypeOf<AgentRunResult>();
  // @ts-expect-error only some events have a text
  event.text;
}

const debate = createDebate({
  name: 'd',
  participants: [agent, agent],
  stopWhen: ({ roundNumber }) => roundNumber > 1,
});
expectTypeOf(debate.run('x')).toEqualTypeOf<Promise<DebateResult>>();

// @ts-expect-error participants are agents
createDebate({ name: 'd', participants: ['a', 'b'] });

createPipeline({ name: 'p', steps: [{ agent }, { agent: 'b', inputMapper: (payload) => String(payload) }] });

// @ts-expect-error an input is a string
createPipeline({ name: 'p', steps: [{ agent, inputMapper: (payload) => payload }] });
