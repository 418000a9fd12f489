import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { createHub } from '../../hub/create-hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { UnknownPriceError } from '../errors.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { fallbackProvider } from '../providers/fallback-provider.js';
import { add, agentOf, callAdd } from '../scripted-agent.fixture.js';
import type { ModelProvider, ModelResponse } from './model-provider.js';
import { costOf, type ModelPrice } from './price.js';
import { ProviderError } from './provider-error.js';
import type { TokenUsage } from './token-usage.js';

const million = 1_000_000;
const prices = { m: { input: 2, output: 10, cachedInput: 0.5, cacheWrite: 3 } };
const usage: TokenUsage = {
  promptTokens: million,
  completionTokens: 100_000,
  totalTokens: million + 100_000,
  cachedTokens: 400_000,
  cacheWriteTokens: 100_000,
};

test.each<[Partial<TokenUsage>, ModelPrice, number]>([
  [{ promptTokens: million, completionTokens: million }, { input: 2, output: 10 }, 12],
  [usage, prices.m, 0.5 * 2 + 0.4 * 0.5 + 0.1 * 3 + 0.1 * 10],
  [usage, { input: 2, output: 10 }, 3],
  [{ promptTokens: 10, completionTokens: 5 }, { input: 0, output: 0 }, 0],
  [{ promptTokens: 10, completionTokens: 0, cachedTokens: 20 }, { input: 1, output: 1, cachedInput: 0 }, 0],
])('the cost of %j is computed from %j', (given, price, cost) => {
  const full = { promptTokens: 0, completionTokens: 0, totalTokens: 0, ...given };
  expect(costOf(full, price)).toBeCloseTo(cost, 10);
});

test.each(['run', 'stream'] as const)(
  '%s: the result has the cost of all calls, those of delegates included',
  async (how) => {
    const registry = createAgentRegistry();
    registry.register(agentOf([{ content: 'sub', usage }], { name: 'sub' }).agent);
    const call = { toolCalls: [{ name: 'delegate', arguments: { agentName: 'sub', input: 'x' } }], usage };
    const costs: (number | undefined)[] = [];
    const { agent } = agentOf([call, { content: 'ok', usage }], {
      prices,
      registry,
      onTokenUsage: ({ cost }) => costs.push(cost),
    });
    const result = how === 'run' ? await agent.run('x') : await agent.stream('x').result;
    expect(result.cost).toBeCloseTo(7.5, 10);
    expect(costs).toEqual([2.5, 2.5, 2.5]);
  },
);

test('a result without a price for one of its models has no cost', async () => {
  const registry = createAgentRegistry();
  registry.register(agentOf(['sub'], { name: 'sub', model: { model: 'other' } }).agent);
  const call = { toolCalls: [{ name: 'delegate', arguments: { agentName: 'sub', input: 'x' } }] };
  const { agent } = agentOf([call, 'ok'], { prices, registry });
  const result = await agent.run('x');
  expect(result).toMatchObject({ status: 'completed' });
  expect(result).not.toHaveProperty('cost');
  expect(result.tokenUsage).not.toHaveProperty('cost');
  const free = agentOf(['ok'], { model: { model: 'constructor' }, prices });
  expect(await free.agent.run('x')).not.toHaveProperty('cost');
});

test('an answer may be as long as the budget pays for, and the run ends before the next call', async () => {
  const { agent, provider } = agentOf([{ ...callAdd(1, 2), usage }, 'never'], { prices, costBudget: 2.2 });
  const result = await agent.run('x');
  expect(provider.calls.map(({ options }) => options.maxTokens)).toEqual([220_000]);
  expect(result).toMatchObject({ status: 'token_budget_exceeded', budget: 'costBudget', cost: 2.5 });
  const small = agentOf(['no'], { prices, costBudget: 0.000_001 });
  const refused = { status: 'token_budget_exceeded', budget: 'costBudget', output: '' };
  expect(await small.agent.run('x')).toMatchObject(refused);
  expect(small.provider.calls).toEqual([]);
});

test('a workflow that is replayed reads the budget that refused a call', async () => {
  const clock = createFakeClock();
  const hub = createHub({ transport: memoryTransport({ clock }) });
  const { agent } = agentOf(['no'], { prices, costBudget: 0.000_001 });
  const seen: unknown[] = [];
  const flow = hub.workflow(
    createWorkflow({
      name: 'flow',
      run: async (ctx) => {
        const { status, budget } = await agent.run('x', { hubCtx: ctx });
        seen.push([status, budget]);
        await ctx.step.sleep('pause', 1_000);
      },
    }),
  );
  await hub.start();
  const run = await hub.startWorkflow(flow, null);
  await vi.waitFor(async () => expect(await run.status()).toMatchObject({ status: 'suspended' }));
  await clock.advance(1_000);
  await run.result();
  await hub.stop();
  expect(seen).toEqual(Array(2).fill(['token_budget_exceeded', 'costBudget']));
});

test('a delegate without a price fails before its call, and within the budget of its delegator', async () => {
  const registry = createAgentRegistry();
  const sub = agentOf(['never'], { name: 'sub', model: { model: 'other' } });
  registry.register(sub.agent);
  const call = { toolCalls: [{ name: 'delegate', arguments: { agentName: 'sub', input: 'x' } }] };
  const { agent } = agentOf([call, 'ok'], { prices, registry, costBudget: 5 });
  const { status, toolCalls } = await agent.run('x');
  expect(status).toBe('completed');
  expect(toolCalls[0]?.result).toMatchObject({ status: 'failed', error: new UnknownPriceError('other').message });
  expect(sub.provider.calls).toEqual([]);
});

test('a call without reported usage counts as one that wrote all that it was allowed to', async () => {
  const unreported = { ...callAdd(1, 2), usage: null };
  const open = await agentOf([unreported, 'never'], { prices, costBudget: 1 }).agent.run('x');
  expect(open).toMatchObject({ status: 'token_budget_exceeded', budget: 'costBudget' });
  expect(open.cost).toBeGreaterThanOrEqual(1);
  const model = { model: 'm', maxTokens: 1_000 };
  const limited = await agentOf([unreported, 'ok'], { prices, model, costBudget: 1 }).agent.run('x');
  expect(limited.status).toBe('completed');
  expect(limited.cost).toBeGreaterThan(0.01);
  const withoutBudget = await agentOf([unreported, 'ok'], { prices, model }).agent.run('x');
  expect(withoutBudget.cost).toBeLessThan(0.001);
});

test('attempts at an event share the budget; an earlier one of unknown cost uses it up', async () => {
  const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
  const options = { conversationId: 'c', idempotencyKey: 'k' };
  const down = new ProviderError('down', { provider: 'p', retryable: true });
  const attempt = (memory: ConversationMemory, config: Partial<AgentConfig>) =>
    agentOf([{ ...callAdd(1, 2), usage }, down], { memory, ...config }).agent.run('x', options);
  for (const priced of [true, false]) {
    const memory = new ConversationMemory({ transport });
    await memory.clear('calculator', 'c');
    await attempt(memory, priced ? { prices } : {});
    const { agent, provider } = agentOf(['ok'], { memory, prices, costBudget: 2.6 });
    const { status } = await agent.run('x', options);
    expect(status).toBe(priced ? 'completed' : 'token_budget_exceeded');
    expect(provider.calls.map((call) => call.options.maxTokens)).toEqual(priced ? [10_000] : []);
  }
});

test.each<[string, object, string]>([
  ['a budget without prices', { costBudget: 1 }, 'prices of agent "a" must be set for "m" if there is a costBudget'],
  ['a budget of 0', { costBudget: 0, prices }, 'costBudget of agent "a" must be a number above 0'],
  ['a negative price', { prices: { m: { input: -1, output: 1 } } }, 'prices["m"].input of agent "a" must be a number'],
  ['a price without output', { prices: { m: { input: 1 } } }, 'prices["m"].output of agent "a" must be set'],
  [
    'a misspelt price',
    { prices: { m: { input: 1, output: 1, cached: 1 } } },
    'must be one of input, output, cachedInput',
  ],
  ['a list of prices', { prices: 5 }, 'prices of agent "a" must be an object of prices by model'],
  [
    'a cache of unknown price',
    { prices: { m: { input: 1, output: 1 } }, costBudget: 1, model: { model: 'm', cache: true } },
    'prices["m"].cacheWrite of agent "a" must be set if the model has cache: true',
  ],
  [
    'a fallback without a price',
    {
      prices,
      costBudget: 1,
      provider: fallbackProvider([
        { provider: scriptedProvider([]) },
        { provider: scriptedProvider([]), model: { model: 'other' } },
      ]),
    },
    'prices of agent "a" must be set for "other"',
  ],
])('%s is refused', (_, config, message) => {
  const provider = scriptedProvider([]);
  const create = () => createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, ...config });
  expect(create).toThrow(message);
});

interface Behaviour {
  readonly wants: number;
  readonly does: 'answer' | 'fail' | 'refuse' | 'hide usage' | 'run out of quota';
}

/** Spending as the vendors see it. */
interface Spent {
  cost: number;
  /** Cost of the most expensive prompt. */
  prompt: number;
}

/** Vendor that charges for what the model writes, at most the tokens that the call allows, and often fails. */
function vendor(price: ModelPrice, prompt: number, script: readonly Behaviour[], spent: Spent): ModelProvider {
  let call = 0;
  return {
    async chat(_, { maxTokens = 50 }): Promise<ModelResponse> {
      const { wants, does } = script[call++ % script.length] ?? { wants: 1, does: 'answer' };
      if (does === 'refuse') throw new ProviderError('no', { provider: 'p', retryable: false });
      if (does === 'run out of quota')
        throw new ProviderError('q', { provider: 'p', statusCode: 429, retryable: false });
      const completionTokens = Math.min(wants, maxTokens);
      const paid = { promptTokens: prompt, completionTokens, totalTokens: prompt + completionTokens };
      spent.cost += costOf(paid, price);
      spent.prompt = Math.max(spent.prompt, costOf({ ...paid, completionTokens: 0 }, price));
      if (does === 'fail') throw new ProviderError('cut', { provider: 'p', retryable: true, usage: paid });
      const usage = does === 'hide usage' ? { promptTokens: 0, completionTokens: 0, totalTokens: 0 } : paid;
      const calls = [1, 2].map((a) => ({ id: '', name: 'add', arguments: `{"a":${a},"b":${call}}` }));
      const others = ['b', 'c'].map((agentName) => {
        return { id: '', name: 'delegate', arguments: JSON.stringify({ agentName, input: `${call}` }) };
      });
      return { content: '', toolCalls: [...calls, ...others], usage, finishReason: 'tool_calls' };
    },
  };
}

const anyBehaviour: fc.Arbitrary<Behaviour> = fc.record({
  wants: fc.integer({ min: 1, max: 900 }),
  does: fc.constantFrom('answer', 'answer', 'fail', 'refuse', 'hide usage', 'run out of quota'),
});
const anyPrice = fc.record({ input: fc.integer({ min: 0, max: 20 }), output: fc.integer({ min: 0, max: 90 }) });
const anyScript = fc.array(anyBehaviour, { minLength: 1, maxLength: 5 });

test('delegates, retries and fallbacks together exceed a cost budget by at most one prompt', async () => {
  const warn = vi.fn();
  const logger = { ...silentLogger, warn };
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 200_000 }),
      fc.integer({ min: 100, max: 400 }),
      fc.array(fc.tuple(anyPrice, anyScript), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (micros, prompt, vendors, hasTokenBudget) => {
        const costBudget = micros / 1e6;
        const spent: Spent = { cost: 0, prompt: 0 };
        const registry = createAgentRegistry();
        const list = Object.fromEntries(vendors.map(([price], index) => [`m${index}`, price]));
        const agents = ['a', 'b', 'c'].map((name) =>
          createAgent({
            name,
            systemPrompt: 'x'.repeat(4 * prompt),
            provider: fallbackProvider(
              vendors.map(([price, script], index) => ({
                provider: vendor(price, prompt, script, spent),
                model: { model: `m${index}` },
              })),
            ),
            model: { model: 'm0' },
            tools: [add],
            registry,
            prices: list,
            logger,
            retry: { maxAttempts: 2, initialDelayMs: 0, jitter: false },
            maxIterations: 3,
            maxDelegationDepth: 2,
            ...(name === 'a' && { costBudget }),
            ...(name === 'a' && hasTokenBudget && { tokenBudget: 3_000 }),
          }),
        );
        for (const agent of agents) registry.register(agent);
        const result = await agents[0]?.run('x');
        const slack = 1e-9;
        expect(spent.cost).toBeLessThanOrEqual(costBudget + spent.prompt + slack);
        // The run counts as much as the vendors charge, or more.
        expect(result?.cost ?? 0).toBeGreaterThanOrEqual(spent.cost - slack);
      },
    ),
    { numRuns: runs(60) },
  );
});
