import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { createAgent } from '../create-agent.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import type { Tool } from '../tools/tool.js';
import type { ModelOptions, ModelProvider, ModelResponse } from './model-provider.js';
import { ProviderError } from './provider-error.js';
import type { TokenUsage } from './token-usage.js';

const noop = { name: 'noop', description: '', parameters: {}, execute: async () => 'done' };
const usageOf = (promptTokens: number, completionTokens: number): TokenUsage => {
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
};
const base = { name: 'a', systemPrompt: '', model: { model: 'm' }, tools: [noop] };

describe('tokenBudget', () => {
  test('limits maxTokens to the remaining budget before each call', async () => {
    const provider = scriptedProvider([
      { toolCalls: [{ name: 'noop' }], usage: usageOf(30, 20) },
      { content: 'ok', usage: usageOf(40, 5) },
    ]);
    const model = { model: 'm', maxTokens: 80 };
    await createAgent({ ...base, provider, model, tokenBudget: 120 }).run('x');
    expect(provider.calls.map(({ options }) => options.maxTokens)).toEqual([80, 70]);
  });

  describe('above the output limit of the model', () => {
    const limit = 16_384;
    const tooMuch = new ProviderError('max_tokens is too large', { provider: 'p', statusCode: 400, retryable: false });

    test('still applies, after few rejected calls', async () => {
      let rejections = 0;
      let overspent = 0;
      let left = 100_000;
      const chat = async (_: unknown, { maxTokens }: ModelOptions): Promise<ModelResponse> => {
        if (maxTokens !== undefined && maxTokens > limit) {
          rejections++;
          throw tooMuch;
        }
        const usage = usageOf(10, Math.min(maxTokens ?? limit, 9_000));
        left -= usage.totalTokens;
        overspent = Math.max(0, -left);
        return {
          content: '',
          toolCalls: [{ id: '', name: 'noop', arguments: `{"left":${left}}` }],
          usage,
          finishReason: 'tool_calls',
        };
      };
      const agent = createAgent({ ...base, provider: { chat }, tokenBudget: left, maxIterations: 100 });
      expect(await agent.run('x')).toMatchObject({ status: 'token_budget_exceeded' });
      expect(rejections).toBeLessThanOrEqual(11);
      expect(overspent).toBeLessThanOrEqual(10);
    });

    test('applies to each call, also between what was rejected and what the model writes', async () => {
      const spent: number[] = [];
      const chat = async (_: unknown, { maxTokens }: ModelOptions): Promise<ModelResponse> => {
        if (maxTokens !== undefined && maxTokens > 8_192) throw tooMuch;
        const usage = usageOf(10, Math.min(maxTokens ?? 8_192, spent.length === 0 ? 3_000 : 8_192));
        spent.push(usage.totalTokens);
        const toolCalls = [{ id: '', name: 'noop', arguments: `{"n":${spent.length}}` }];
        return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
      };
      const agent = createAgent({ ...base, provider: { chat }, tokenBudget: 9_000 });
      expect(await agent.run('x')).toMatchObject({ status: 'token_budget_exceeded' });
      expect(spent.reduce((sum, tokens) => sum + tokens, 0)).toBeLessThanOrEqual(9_010);
    });

    test('uses the limit that the vendor names', async () => {
      const named = 'max_tokens: 100000 > 8,192, which is the maximum';
      const details = { provider: 'p', statusCode: 400, retryable: false, vendorMessage: named };
      const refusal = new ProviderError('invalid_request_error', details);
      const provider = scriptedProvider([refusal, { toolCalls: [{ name: 'noop' }] }, 'ok']);
      await createAgent({ ...base, provider, tokenBudget: 100_000 }).run('x');
      expect(provider.calls.map(({ options }) => options.maxTokens)).toEqual([100_000, 8_192, 8_192]);
      provider.assertDone();
    });

    test('repeats the call once without maxTokens, and only if that call succeeds avoids it later', async () => {
      const provider = scriptedProvider([tooMuch, tooMuch, 'ok']);
      const agent = createAgent({ ...base, provider, tokenBudget: 100_000 });
      expect(await agent.run('x')).toMatchObject({ status: 'failed', error: tooMuch });
      expect(await agent.run('x')).toMatchObject({ status: 'completed' });
      expect(provider.calls.map(({ options }) => options.maxTokens)).toEqual([100_000, undefined, 100_000]);
    });

    test('does not change a maxTokens that the application sets', async () => {
      const provider = scriptedProvider([tooMuch]);
      const agent = createAgent({ ...base, model: { model: 'm', maxTokens: 50_000 }, provider, tokenBudget: 100_000 });
      expect(await agent.run('x')).toMatchObject({ status: 'failed', error: tooMuch });
      provider.assertDone();
    });
  });

  test('absent, does not set maxTokens', async () => {
    const provider = scriptedProvider(['ok']);
    await createAgent({ ...base, provider }).run('x');
    expect(provider.calls[0]?.options.maxTokens).toBeUndefined();
  });

  test('makes no call that does not fit', async () => {
    const provider = scriptedProvider([]);
    const result = await createAgent({ ...base, provider, tokenBudget: 50 }).run('word '.repeat(200));
    expect(result).toMatchObject({ status: 'token_budget_exceeded', budget: 'tokenBudget', output: '' });
    provider.assertDone();
  });

  test('ends a run that spent it, with the text so far', async () => {
    const provider = scriptedProvider([{ content: 'thinking', toolCalls: [{ name: 'noop' }], usage: usageOf(50, 50) }]);
    const result = await createAgent({ ...base, provider, tokenBudget: 100 }).run('x');
    expect(result).toMatchObject({
      status: 'token_budget_exceeded',
      output: 'thinking',
      toolCalls: [{ result: 'done' }],
    });
  });

  test('executes no call after an overrun, and answers the requested ones', async () => {
    const provider = scriptedProvider([{ toolCalls: [{ name: 'noop' }], usage: usageOf(90, 20) }]);
    const result = await createAgent({ ...base, provider, tokenBudget: 100 }).run('x');
    expect(result.status).toBe('token_budget_exceeded');
    expect(result.toolCalls[0]?.error).toContain('token budget');
    expect(result.messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'call_1' });
  });

  test('exceeded by the final answer is still exceeded, with the answer', async () => {
    const provider = scriptedProvider([{ content: 'the answer', usage: usageOf(110, 10) }]);
    const result = await createAgent({ ...base, provider, tokenBudget: 100 }).run('x');
    expect(result).toMatchObject({ status: 'token_budget_exceeded', budget: 'tokenBudget', output: 'the answer' });
  });

  test('stops a provider that reports no usage: it is estimated and marked', async () => {
    const silent: ModelProvider = {
      chat: async (_, { maxTokens = 0 }) => ({
        content: 'x'.repeat(Math.min(200, maxTokens * 4)),
        toolCalls: [{ id: '', name: 'noop', arguments: `{"n":${Math.random()}}` }],
        usage: usageOf(0, 0),
        finishReason: 'tool_calls',
      }),
    };
    const result = await createAgent({ ...base, provider: silent, tokenBudget: 1000, maxIterations: 1000 }).run('x');
    expect(result.status).toBe('token_budget_exceeded');
    expect(result.tokenUsage.estimated).toBe(true);
    expect(result.tokenUsage.totalTokens).toBeGreaterThan(100);
  });

  test('of a delegate is its own or the remainder of the delegating run, whichever is less', async () => {
    const registry = createAgentRegistry();
    const delegateProvider = scriptedProvider([{ content: 'ok', usage: usageOf(10, 5) }]);
    registry.register(createAgent({ ...base, name: 'b', provider: delegateProvider, registry, tokenBudget: 500 }));
    const provider = scriptedProvider([
      { toolCalls: [{ name: 'delegate', arguments: { agentName: 'b', input: 'x' } }], usage: usageOf(50, 50) },
      'done',
    ]);
    await createAgent({ ...base, provider, registry, tokenBudget: 400 }).run('x');
    expect(delegateProvider.calls[0]?.options.maxTokens).toBe(300);
    expect(provider.calls[1]?.options.maxTokens).toBe(285);
  });
});

test('a delegate that is aborted while it waits blocks nobody', async () => {
  const registry = createAgentRegistry();
  const waiting: (() => void)[] = [];
  const slow: ModelProvider = {
    chat: async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { content: 'slow', usage: usageOf(5, 5), finishReason: 'stop' };
    },
  };
  const never = scriptedProvider([]);
  registry.register(createAgent({ ...base, name: 'slow', provider: slow }));
  registry.register(createAgent({ ...base, name: 'never', provider: never }));
  const impatient: Tool = {
    ...{ name: 'impatient', description: '', parameters: {}, timeoutMs: 5 },
    execute: (_, ctx) => ctx.delegate('never', 'x').finally(() => waiting[0]?.()),
  };
  const handToSlow = { name: 'delegate', arguments: { agentName: 'slow', input: 'x' } };
  const provider = scriptedProvider([{ toolCalls: [handToSlow, { name: 'impatient' }] }, 'done']);
  const agent = createAgent({ ...base, provider, registry, tools: [impatient], tokenBudget: 1000 });
  const result = await agent.run('x');
  expect(result).toMatchObject({ status: 'completed', toolCalls: [{ result: 'slow' }, { result: null }] });
  expect(result.toolCalls[1]?.error).toContain('timeoutMs');
  never.assertDone();
});

test('a delegate that is aborted during its call costs its estimated prompt', async () => {
  const registry = createAgentRegistry();
  const chat = () => new Promise<never>(() => {});
  registry.register(createAgent({ ...base, name: 'slow', systemPrompt: 'x'.repeat(400), provider: { chat } }));
  const impatient: Tool = {
    ...{ name: 'impatient', description: '', parameters: {}, timeoutMs: 5 },
    execute: (_, ctx) => ctx.delegate('slow', 'x'),
  };
  const provider = scriptedProvider([{ toolCalls: [{ name: 'impatient' }] }, 'ok']);
  const agent = createAgent({ ...base, provider, registry, tools: [impatient], tokenBudget: 1000 });
  const { status, tokenUsage } = await agent.run('x');
  expect(status).toBe('completed');
  expect(tokenUsage).toMatchObject({ completionTokens: 10, estimated: true });
  expect(tokenUsage.promptTokens).toBeGreaterThan(20 + 100);
});

/** Model that writes as much as allowed, sometimes fails at a cost, and delegates to all agents in parallel. */
function spender(prompt: number, script: readonly Behaviour[], spent: { tokens: number; most: number }): ModelProvider {
  let call = 0;
  return {
    async chat(_, { maxTokens = 50 }): Promise<ModelResponse> {
      const { wants, fails } = script[call++ % script.length] ?? { wants: 1, fails: false };
      const usage = usageOf(prompt, Math.min(wants, maxTokens));
      spent.tokens += usage.totalTokens;
      spent.most = Math.max(spent.most, prompt);
      if (fails) throw new ProviderError('cut', { provider: 'p', retryable: true, usage });
      return {
        content: '',
        toolCalls: [
          { id: '', name: 'delegate', arguments: JSON.stringify({ agentName: 'b', input: `${call}` }) },
          { id: '', name: 'delegate', arguments: JSON.stringify({ agentName: 'c', input: `${call}` }) },
        ],
        usage,
        finishReason: 'tool_calls',
      };
    },
  };
}

interface Behaviour {
  readonly wants: number;
  readonly fails: boolean;
}

test('delegates and retries together exceed the budget by at most one prompt', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 50, max: 5000 }),
      fc.integer({ min: 5, max: 400 }),
      fc.array(fc.record({ wants: fc.integer({ min: 1, max: 900 }), fails: fc.boolean() }), {
        minLength: 1,
        maxLength: 6,
      }),
      async (tokenBudget, prompt, script) => {
        const spent = { tokens: 0, most: 0 };
        const registry = createAgentRegistry();
        const agents = ['a', 'b', 'c', 'd'].map((name) =>
          createAgent({
            ...base,
            name,
            provider: spender(prompt, script, spent),
            registry,
            retry: { maxAttempts: 3, initialDelayMs: 0 },
            maxIterations: 4,
            maxDelegationDepth: 3,
            ...(name === 'a' && { tokenBudget }),
          }),
        );
        for (const agent of agents) registry.register(agent);
        const result = await agents[0]?.run('x');
        expect(spent.tokens).toBeLessThanOrEqual(tokenBudget + spent.most);
        expect(result?.tokenUsage.totalTokens).toBe(spent.tokens);
      },
    ),
    { numRuns: runs(60) },
  );
});
