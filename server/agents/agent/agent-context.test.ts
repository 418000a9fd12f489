import { describe, expect, test } from 'vitest';
import { agentOf, usageOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import type { AgentContext } from './agent-context.js';

describe.each([
  ['a tool', {}],
  ['a tool with a timeout', { timeoutMs: 10_000 }],
])('ctx.tokenUsage of %s', (_, settings) => {
  const runWith = async (execute: (ctx: AgentContext) => unknown) => {
    const look = createTool({
      name: 'look',
      description: '',
      parameters: {},
      execute: async (_input: unknown, ctx) => execute(ctx),
      ...settings,
    });
    const call = { toolCalls: [{ name: 'look' }], usage: usageOf(100) };
    const { agent } = agentOf([call, call, { content: 'ok', usage: usageOf(100) }], {
      tools: [look],
      tokenBudget: 1000,
    });
    return agent.run('x');
  };

  test('contains the tokens spent so far', async () => {
    const seen: number[] = [];
    await runWith((ctx) => seen.push(ctx.tokenUsage.totalTokens));
    expect(seen).toEqual([100, 200]);
  });

  test('keeps counting in a context that a tool stores', async () => {
    const kept: AgentContext[] = [];
    await runWith((ctx) => kept.push(ctx));
    expect(kept.map(({ tokenUsage }) => tokenUsage.totalTokens)).toEqual([300, 300]);
  });

  test('is a copy: a tool that changes it changes no budget', async () => {
    const { status, tokenUsage } = await runWith((ctx) => {
      Object.assign(ctx.tokenUsage, { totalTokens: -1e6, promptTokens: 0 });
    });
    expect(status).toBe('completed');
    expect(tokenUsage).toEqual({ promptTokens: 297, completionTokens: 3, totalTokens: 300 });
  });
});
