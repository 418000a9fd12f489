import { vi } from 'vitest';
import { type ScriptEntry, type ScriptedProvider, scriptedProvider } from '../testing/scripted-provider.js';
import type { ModelAgent } from './agent/agent.js';
import { type AgentConfig, createAgent } from './create-agent.js';
import type { AgentMemory } from './memory/conversation-memory.js';
import type { TokenUsage } from './model/token-usage.js';
import { createTool } from './tools/tool.js';

/** Tool that the tests' model calls. */
export const add = createTool({
  name: 'add',
  description: 'Adds two numbers',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  execute: async ({ a, b }: { a: number; b: number }) => a + b,
});

/** Creates an agent with a scripted model. */
export function agentOf(
  script: readonly ScriptEntry[],
  config: Partial<AgentConfig> = {},
): { agent: ModelAgent; provider: ScriptedProvider } {
  const provider = scriptedProvider(script);
  const agent = createAgent({
    name: 'calculator',
    systemPrompt: 'You add.',
    provider,
    model: { model: 'm' },
    tools: [add],
    ...config,
  });
  return { agent, provider };
}

/** Returns an answer that calls `add`. */
export const callAdd = (a: number, b: number) => ({ toolCalls: [{ name: 'add', arguments: { a, b } }] });

export function usageOf(total: number): TokenUsage {
  return { promptTokens: total - 1, completionTokens: 1, totalTokens: total };
}

/** Creates a memory with these messages that records its calls. */
export function memoryOf(messages: Awaited<ReturnType<AgentMemory['getMessages']>>) {
  return {
    addMessage: vi.fn<AgentMemory['addMessage']>(async () => {}),
    getMessages: vi.fn<AgentMemory['getMessages']>(async () => messages),
    clear: vi.fn<AgentMemory['clear']>(async () => {}),
  };
}
