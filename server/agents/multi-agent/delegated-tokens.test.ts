import { describe, expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import type { AgentHandlerResult, ModelAgent } from '../agent/agent.js';
import type { AgentConfig } from '../create-agent.js';
import type { AgentMemory } from '../memory/conversation-memory.js';
import { agentOf, memoryOf, usageOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import { createDebate } from './create-debate.js';
import { createPipeline } from './create-pipeline.js';
import { createAgentRegistry } from './delegation.js';

const prices = { m: { input: 1_000_000, output: 1_000_000 } };
const delegating = (agentName: string) => ({ name: 'delegate', arguments: { agentName, input: 'x' } });
const speaking = { content: 'x', usage: usageOf(5_000) };

/** Creates an agent whose calls let other agents spend tokens, and whose second turn fails at first. */
function rootOf(
  calls: readonly { name: string; arguments?: unknown }[],
  config: Partial<AgentConfig> = {},
  more: typeof calls = [],
) {
  const helper = () => agentOf([{ content: 'x', usage: usageOf(10_000) }], { name: 'helper', prices }).agent;
  const registry = createAgentRegistry();
  registry.register(helper());
  const nested = createAgentRegistry();
  nested.register(helper());
  const middle = [
    { toolCalls: [delegating('helper')], usage: usageOf(1_000) },
    { content: 'x', usage: usageOf(4_000) },
  ];
  registry.register(agentOf(middle, { name: 'middle', registry: nested, prices }).agent);
  const debate = createDebate({
    name: 'd',
    participants: ['one', 'two'].map((name) => agentOf([speaking], { name, prices }).agent),
    maxRounds: 1,
  });
  const toolOf = (name: string, execute: Parameters<typeof createTool>[0]['execute']) =>
    createTool({ name, description: '', parameters: { type: 'object' }, execute });
  const tools = [
    toolOf('nothing', async () => null),
    toolOf('own', async (_, ctx) => (await ctx.delegate('helper', 'x')).output),
    toolOf('other', async (_, ctx) => (await helper().run('x', { hubCtx: ctx })).output),
    toolOf('debate', async (_, ctx) => (await debate.run('x', { hubCtx: ctx })).output),
  ];
  const script = [
    { toolCalls: calls, usage: usageOf(1_000) },
    new Error('down'),
    ...more.map((call) => ({ toolCalls: [call], usage: usageOf(1_000) })),
    { content: 'done', usage: usageOf(1_000) },
  ];
  return agentOf(script, { name: 'root', registry, tools, prices, ...config });
}

/** Handles one event, whose first attempt fails after the calls of the first turn. */
async function handled(agent: ModelAgent): Promise<{ results: AgentHandlerResult[]; message: string | undefined }> {
  const { hub, clock } = testHub();
  const results: AgentHandlerResult[] = [];
  const retry = { maxAttempts: 2, initialDelayMs: 0 };
  hub.event({ type: 'asked', handler: agent.asHandler(), retry, onSuccess: 'answered' });
  hub.event<AgentHandlerResult>({ type: 'answered', handler: ({ payload }) => void results.push(payload) });
  await hub.start();
  await hub.emit('asked', 'go');
  await clock.advance(10);
  const [deadLetter] = await hub.deadLetters('asked');
  await hub.stop();
  return { results, message: deadLetter?.message };
}

const ways: [string, { name: string; arguments?: unknown }[], number, number][] = [
  ['the tool delegate', [delegating('helper')], 10_000, 1],
  ['the tool delegate of a delegate', [delegating('middle')], 15_000, 2],
  ['ctx.delegate in the code of a tool', [{ name: 'own' }], 10_000, 1],
  ['another agent in the code of a tool', [{ name: 'other' }], 10_000, 1],
  ['a debate in the code of a tool', [{ name: 'debate' }], 10_000, 2],
  ['several calls of one turn', [{ name: 'other' }, { name: 'debate' }, delegating('middle')], 35_000, 5],
];

describe.each(ways)('the tokens of %s', (_, calls, spent) => {
  test('count in the result of a later attempt', async () => {
    const { agent, provider } = rootOf(calls);
    const { results } = await handled(agent);
    provider.assertDone();
    expect(results).toMatchObject([{ tokenUsage: { totalTokens: spent + 2_000, cost: spent + 2_000 } }]);
  });

  test.each(['tokenBudget', 'costBudget'])('count in the %s of a later attempt', async (budget) => {
    // The first two turns take 1,000 each, so that the third one does not fit.
    const { agent, provider } = rootOf(calls, { [budget]: spent + 2_500 }, [{ name: 'nothing' }]);
    const { results, message } = await handled(agent);
    expect(results).toEqual([]);
    expect(message).toContain('token_budget_exceeded');
    expect(provider.calls).toHaveLength(3);
  });
});

test.each(ways)('the runs of %s count in the maxDelegations of a later attempt', async (_, calls, _spent, runs) => {
  const { agent, provider } = rootOf(calls, { maxDelegations: runs }, [delegating('helper')]);
  const { results } = await handled(agent);
  provider.assertDone();
  expect(results).toMatchObject([{ status: 'completed' }]);
  expect(provider.calls.at(-1)?.messages.at(-1)?.content).toContain(`maxDelegations (${runs})`);
});

test('the tokens that shorten a conversation count in a later attempt', async () => {
  const { agent: scribe } = agentOf([{ content: 'short', usage: usageOf(5_000) }], { name: 'scribe', prices });
  let isShort = false;
  const memory: AgentMemory = {
    ...memoryOf([]),
    compact: async (_agent, _conversation, ctx) => {
      if (!isShort) await scribe.run('x', { hubCtx: ctx });
      isShort = true;
    },
  };
  const { agent, provider } = rootOf([{ name: 'nothing' }], { memory });
  const { results } = await handled(agent);
  provider.assertDone();
  expect(results).toMatchObject([{ tokenUsage: { totalTokens: 7_000, cost: 7_000 } }]);
});

test('the tokens of a delegate count in the function of a workflow and in a pipeline that start again', async () => {
  const { hub, clock } = testHub();
  const retry = { maxAttempts: 2, initialDelayMs: 0 };
  const calls = [delegating('helper'), { name: 'other' }];
  const inFunction = rootOf([delegating('middle'), { name: 'other' }]);
  const workflow = hub.workflow(
    createWorkflow({
      name: 'w',
      run: async (ctx) => {
        const { tokenUsage } = await inFunction.agent.run('x', { hubCtx: ctx });
        // The function starts again after it.
        await ctx.step.sleep('pause', 5);
        return tokenUsage.totalTokens;
      },
    }),
  );
  const inStep = rootOf(calls);
  const pipeline = hub.workflow(createPipeline({ name: 'p', steps: [{ agent: inStep.agent, retry }] }));
  await hub.start();
  const runs = [await hub.startWorkflow(workflow, {}), await hub.startWorkflow(pipeline, 'x')] as const;
  await clock.advance(20);
  expect(await runs[0].result()).toBe(15_000 + 10_000 + 1_000);
  expect(await runs[1].result()).toMatchObject({ tokenUsage: { totalTokens: 20_000 + 2_000 } });
  await hub.stop();
});
