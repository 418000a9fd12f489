import { expect, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { deferred } from '../../hub/hub.fixture.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Agent, AgentHandlerResult } from '../agent/agent.js';
import { createAgentContext } from '../agent/agent-context.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import type { AgentMemory } from '../memory/conversation-memory.js';
import type { ModelProvider } from '../model/model-provider.js';
import { ProviderError } from '../model/provider-error.js';
import { SpendingMeter, TokenLedger } from '../model/token-ledger.js';
import { createDebate } from '../multi-agent/create-debate.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { agentOf, memoryOf, usageOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import { DyingProcess } from './dying-process.fixture.js';

const parameters = { type: 'object' };
const calls = {
  'an agent in the code of a tool': { name: 'other', arguments: '{}' },
  'an agent in the code of a tool that must not run again': { name: 'once', arguments: '{}' },
  'ctx.delegate in the code of a tool': { name: 'own', arguments: '{}' },
  'a debate in the code of a tool': { name: 'debate', arguments: '{}' },
  'an agent in the code of a tool of a delegate': { name: 'delegate', arguments: '{"agentName":"middle","input":"x"}' },
};

interface Story {
  readonly call?: { readonly name: string; readonly arguments: string };
  /** Actions at which the process dies. */
  readonly deaths: readonly number[];
  /** Every second model call of the agent fails, and costs as much as an answer. */
  readonly fails?: boolean;
  /** The conversation has to be shortened. */
  readonly isLong?: boolean;
  readonly config?: Partial<AgentConfig>;
}

/** Handles one event in as many processes as the story needs. Each answer costs 1,000 tokens. */
async function tell({ call, deaths, fails = false, isLong = false, config }: Story) {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const host = new DyingProcess(deaths);
  const paid: string[] = [];
  const results: AgentHandlerResult[] = [];
  let asked = 0;
  const providerOf = (name: string, first?: { name: string; arguments: string }): ModelProvider => ({
    async chat(messages) {
      await host.act();
      paid.push(name);
      if (fails && name === 'root' && asked++ % 2 === 0) {
        throw new ProviderError('cut', { provider: name, retryable: true, usage: usageOf(1_000) });
      }
      const isFirst = first !== undefined && !messages.some(({ role }) => role === 'assistant');
      const toolCalls = isFirst ? [{ id: '', ...first }] : [];
      return { content: 'x', toolCalls, usage: usageOf(1_000), finishReason: isFirst ? 'tool_calls' : 'stop' };
    },
  });
  const agentNamed = (name: string, more: Partial<AgentConfig> = {}): Agent =>
    createAgent({ name, systemPrompt: '', provider: providerOf(name), model: { model: 'm' }, clock, ...more });
  const helper = agentNamed('helper');
  const toolOf = (name: string, execute: Parameters<typeof createTool>[0]['execute'], retryable = true) =>
    createTool({
      name,
      description: '',
      parameters,
      retryable,
      execute: async (input, ctx) => {
        await execute(input, ctx);
        // The agent's answer is paid, and the call has no result.
        await host.act();
        return 'done';
      },
    });
  const debate = createDebate({ name: 'd', participants: [agentNamed('one'), agentNamed('two')], maxRounds: 1 });
  const other = toolOf('other', (_, ctx) => helper.run('x', { hubCtx: ctx }));
  const registry = createAgentRegistry();
  registry.register(helper);
  registry.register(
    agentNamed('middle', { provider: providerOf('middle', { name: 'other', arguments: '{}' }), tools: [other] }),
  );
  const tools = [
    other,
    toolOf('once', (_, ctx) => helper.run('x', { hubCtx: ctx }), false),
    toolOf('own', (_, ctx) => ctx.delegate('helper', 'x')),
    toolOf('debate', (_, ctx) => debate.run('x', { hubCtx: ctx })),
  ];
  let isShort = !isLong;
  const scribe = agentNamed('scribe');
  const memory: AgentMemory = {
    ...memoryOf([]),
    compact: async (_agent, _conversation, ctx) => {
      if (isShort) return;
      await scribe.run('x', { hubCtx: ctx });
      await host.act();
      isShort = true;
    },
  };
  async function start(): Promise<Hub> {
    const hub = createHub({ transport });
    const agent = agentNamed('root', { provider: providerOf('root', call), tools, registry, memory, ...config });
    const retry = { maxAttempts: 50, initialDelayMs: 1_000, maxDelayMs: 1_000 };
    hub.event({ type: 'asked', handler: agent.asHandler(), retry, onSuccess: 'answered' });
    hub.event<AgentHandlerResult>({ type: 'answered', handler: ({ payload }) => void results.push(payload) });
    await hub.start();
    return hub;
  }
  let hub = await start();
  await hub.emit('asked', 'go');
  let message: string | undefined;
  let hasDied = false;
  for (let round = 0; results.length === 0 && message === undefined && round < 100; round++) {
    await clock.advance(1_000);
    if (host.isDead) {
      hasDied = true;
      await hub.stop({ drainMs: 0 });
      host.restart();
      hub = await start();
    }
    [message] = (await hub.deadLetters('asked')).map((letter) => letter.message);
  }
  await hub.stop({ drainMs: 0 });
  return { paid, hasDied, tokens: results[0]?.tokenUsage.totalTokens, message };
}

const stories: [string, Omit<Story, 'deaths'>][] = [
  ...Object.entries(calls).map(([what, call]): [string, Omit<Story, 'deaths'>] => [what, { call }]),
  ['an agent that shortens the conversation', { isLong: true }],
  ['failed model calls', { call: calls['an agent in the code of a tool'], fails: true }],
];

test.each(stories)('the tokens of %s count wherever the process dies after they are paid', async (_, story) => {
  for (let death = 0, hasDied = true; hasDied; death++) {
    const told = await tell({ ...story, deaths: [death, death + 2] });
    hasDied = told.hasDied;
    expect(told.tokens).toBe(told.paid.length * 1_000);
  }
});

test.each(stories)('the tokens of %s count in the budget of all attempts', async (_, story) => {
  const deaths = Array.from({ length: 60 }, (_, index) => index * 2 + 3);
  const { paid, tokens } = await tell({ ...story, deaths, config: { tokenBudget: 12_000 } });
  if (tokens === undefined) expect(paid).toHaveLength(12);
  else expect(tokens).toBe(paid.length * 1_000);
  expect(paid.length).toBeLessThanOrEqual(12);
});

const agents = stories.filter(([, { fails = false }]) => !fails);

const ways = agents.flatMap(([what, story]) => [1, 2].map((first) => [what, first, story] as const));

test.each(ways)('the runs of %s count in the maxDelegations of all attempts (%i)', async (_, first, story) => {
  const deaths = Array.from({ length: 8 }, (_, index) => index * 2 + first);
  const { paid, message } = await tell({ ...story, deaths, config: { maxDelegations: 3 } });
  expect(message).toBeUndefined();
  expect(paid.filter((name) => name !== 'root' && name !== 'middle').length).toBeLessThanOrEqual(3);
});

test('the tokens of a run that failed in the function of a workflow count when it starts again', async () => {
  const clock = createFakeClock();
  const hub = createHub({ transport: memoryTransport({ clock }) });
  const error = new ProviderError('cut', { provider: 'p', retryable: false, usage: usageOf(1_000) });
  const provider: ModelProvider = { chat: () => Promise.reject(error) };
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' } });
  const workflow = hub.workflow(
    createWorkflow({
      name: 'w',
      run: async (ctx) => {
        const { tokenUsage } = await agent.run('x', { hubCtx: ctx });
        // The function starts again after it.
        await ctx.step.sleep('pause', 5);
        return tokenUsage.totalTokens;
      },
    }),
  );
  await hub.start();
  const run = await hub.startWorkflow(workflow, {});
  await clock.advance(20);
  expect(await run.result()).toBe(1_000);
  await hub.stop();
});

test('an agent acts on an answer after its tokens are recorded', async () => {
  const recorded = deferred();
  const lineage = { chain: [], limits: undefined, ledger: new TokenLedger(), exchangeId: 'e', delegate: vi.fn() };
  const parts = { agentName: 'root', runId: 'r', payload: undefined, signal: undefined, hubCtx: undefined };
  const meter = new SpendingMeter(usageOf(1), ({ runs }) => (runs === undefined ? recorded.promise : undefined));
  const ctx = createAgentContext({ ...parts, lineage, meter });
  const execute = vi.fn(async () => 1);
  const tool = createTool({ name: 'act', description: '', parameters, execute });
  const { agent } = agentOf([{ toolCalls: [{ name: 'act', arguments: {} }] }, 'done'], { tools: [tool] });
  const run = agent.run('x', { hubCtx: ctx });
  await new Promise(setImmediate);
  expect(execute).not.toHaveBeenCalled();
  recorded.resolve();
  expect(await run).toMatchObject({ status: 'completed' });
  expect(execute).toHaveBeenCalledOnce();
});
