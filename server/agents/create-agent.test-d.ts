import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { createHub } from '../hub/create-hub.js';
import { createEvent } from '../hub/events/event.js';
import type { Agent, ModelAgent } from './agent/agent.js';
import type { AgentStreamEvent } from './agent/agent-stream.js';
import type { CompletedAgentRun, SettledAgentRun } from './agent/run-result.js';
import { createAgent } from './create-agent.js';
import { type Compact, summarizeWith } from './memory/conversation-summary.js';
import type { ToolCall } from './model/message.js';
import type { ModelProvider } from './model/model-provider.js';
import type { TokenUsage } from './model/token-usage.js';
import { createDebate } from './multi-agent/create-debate.js';
import { createPipeline } from './multi-agent/create-pipeline.js';
import { createAgentRegistry } from './multi-agent/delegation.js';
import type { DebateResult } from './multi-agent/run-debate.js';
import { fallbackProvider } from './providers/fallback-provider.js';
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

createAgent({
  ...required,
  systemPrompt: async ({ payload }) => String(payload),
  tools: ({ turn }) =>
    turn > 1 ? [] : [createTool({ name: 'a', description: '', parameters: {}, execute: async () => 1 })],
  prepareTurn: ({ turn, usage }) => {
    expectTypeOf(usage.totalTokens).toBeNumber();
    if (turn > 1) return { model: { temperature: 0 }, toolChoice: { tool: 'a' } };
    return undefined;
  },
  beforeTool: async ({ input }) => {
    expectTypeOf(input).toBeUnknown();
    return { refuse: 'no' };
  },
  // A hook may return nothing.
  afterModel: async ({ toolCalls }) => {
    expectTypeOf(toolCalls).toEqualTypeOf<readonly ToolCall[]>();
  },
});

// @ts-expect-error tools of a turn are names
createAgent({ ...required, prepareTurn: () => ({ tools: [1] }) });

// @ts-expect-error one decision at a time
createAgent({ ...required, beforeTool: () => ({ refuse: 'no', result: 1 }) });

// @ts-expect-error `provider` is required
createAgent({ name: 'a', systemPrompt: '', model: { model: 'm' } });

// @ts-expect-error a misspelt option
createAgent({ ...required, maxIteration: 3 });

// @ts-expect-error a model is an object
createAgent({ ...required, model: 'm' });

// @ts-expect-error a misspelt option of the model
createAgent({ ...required, model: { model: 'm', max_tokens: 5 } });

expectTypeOf(agent.run('x')).toEqualTypeOf<Promise<SettledAgentRun>>();
expectTypeOf(agent.stream('x').result).toEqualTypeOf<Promise<SettledAgentRun>>();
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
  if (event.type === 'run-end') expectTypeOf(event.result).toEqualTypeOf<SettledAgentRun>();
  // @ts-expect-error only some events have a text
  event.text;
}

// A schema types the result, without a cast.
const category = z.object({ category: z.enum(['billing', 'other']), at: z.coerce.date<string>() });
const classifier = createAgent({ ...required, outputSchema: category });
expectTypeOf(classifier).toEqualTypeOf<ModelAgent<z.output<typeof category>>>();
expectTypeOf((await classifier.run('x')).data).toEqualTypeOf<{ category: 'billing' | 'other'; at: Date } | undefined>();
expectTypeOf((await classifier.stream('x').result).data?.category).toEqualTypeOf<'billing' | 'other' | undefined>();
for await (const event of classifier.stream('x')) {
  if (event.type === 'run-end') expectTypeOf(event.result.data?.at).toEqualTypeOf<Date | undefined>();
}
expectTypeOf(classifier).toExtend<ModelAgent>();
expectTypeOf((await agent.run('x')).data).toBeUnknown();
expectTypeOf(createAgent({ ...required, outputSchema: { type: 'object' } })).toEqualTypeOf<ModelAgent>();
const classified = createEvent<{ data: { category: 'billing' | 'other' } }>({ type: 'classified' });
const other = createEvent<{ data: { category: number } }>({ type: 'other' });
createHub().event({ type: 'opened', handler: classifier.asHandler(), onSuccess: classified });
// @ts-expect-error the category is not a number
createHub().event({ type: 'opened', handler: classifier.asHandler(), onSuccess: other });

// The status narrows the data and the error, without a check or a cast.
const narrowed = await classifier.run('x');
if (narrowed.status === 'completed') {
  expectTypeOf(narrowed.data).toEqualTypeOf<z.output<typeof category>>();
  expectTypeOf(narrowed).toEqualTypeOf<CompletedAgentRun<z.output<typeof category>>>();
  expectTypeOf(narrowed.error).toEqualTypeOf<undefined>();
} else {
  expectTypeOf(narrowed.data).toEqualTypeOf<z.output<typeof category> | undefined>();
}
if (narrowed.status === 'failed') expectTypeOf(narrowed.error).toEqualTypeOf<Error>();
const { status, data, error } = await classifier.run('x');
if (status === 'completed') expectTypeOf(data.category).toEqualTypeOf<'billing' | 'other'>();
if (status === 'failed') expectTypeOf(error.message).toBeString();
for await (const event of classifier.stream('x')) {
  if (event.type !== 'run-end' || event.result.status !== 'completed') continue;
  expectTypeOf(event.result.data.at).toEqualTypeOf<Date>();
}
switch (narrowed.status) {
  case 'completed':
  case 'failed':
  case 'max_iterations':
  case 'token_budget_exceeded':
    break;
  default:
    expectTypeOf(narrowed).toBeNever();
}

/** Any agent with a schema, in generic code. */
async function dataOf<TData>(typed: ModelAgent<TData>): Promise<TData | undefined> {
  const result = await typed.run('x');
  return result.status === 'completed' ? result.data : undefined;
}
expectTypeOf(dataOf(classifier)).toEqualTypeOf<Promise<z.output<typeof category> | undefined>>();

// Without a schema nothing is known of the data. The fields of the interface are those of every status.
const plain = await agent.run('x');
if (plain.status === 'completed') expectTypeOf(plain.data).toBeUnknown();
expectTypeOf(plain).toExtend<{ agentName: string; runId: string; output: string; tokenUsage: TokenUsage }>();

// Prices and costs.
createAgent({ ...required, prices: { m: { input: 1, output: 2, cachedInput: 0.1 } }, costBudget: 1 });
// @ts-expect-error a price has an output
createAgent({ ...required, prices: { m: { input: 1 } } });
expectTypeOf((await agent.run('x')).cost).toEqualTypeOf<number | undefined>();

// A list of providers is a provider; an agent with a schema is one that summarises.
createAgent({ ...required, provider: fallbackProvider([{ provider }, { provider, model: { model: 'n', topP: 1 } }]) });
// @ts-expect-error an entry has a provider
fallbackProvider([{ model: { model: 'n' } }]);
expectTypeOf(summarizeWith(agent)).toExtend<Compact>();
summarizeWith(classifier, { maxChars: 500 });
createAgent({ ...required, model: { model: 'm', reasoning: 'low', toolChoice: { tool: 'a' }, stop: ['x'] } });
createAgent({ ...required, model: { model: 'm', reasoning: { budgetTokens: 5 }, toolChoice: 'required' } });
// @ts-expect-error an unknown effort
createAgent({ ...required, model: { model: 'm', reasoning: 'huge' } });

createAgent({ ...required, model: { model: 'm', vendorTools: { webSearch: { maxUses: 3 }, codeExecution: true } } });
// @ts-expect-error an unknown tool of the vendor
createAgent({ ...required, model: { model: 'm', vendorTools: { webSerch: true } } });

// Agents of createAgent take conversations over, whatever their schema; an agent of your own does not.
const registry = createAgentRegistry();
registry.register(classifier, { handoff: true });
const ownAgent: Agent = agent;
registry.register(ownAgent);
// @ts-expect-error it has no model that could continue the conversation
registry.register(ownAgent, { handoff: true });

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
