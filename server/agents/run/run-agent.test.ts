import { describe, expect, test, vi } from 'vitest';
import type { AgentRunOptions } from '../agent/agent.js';
import { add, agentOf, callAdd, memoryOf, usageOf } from '../scripted-agent.fixture.js';

describe('messages', () => {
  test('are the system prompt, the stored conversation, and the input', async () => {
    const memory = memoryOf([
      { role: 'user', content: 'earlier' },
      { role: 'assistant', content: 'before' },
    ]);
    const { agent, provider } = agentOf(['3'], { memory });
    await agent.run('1 and 2?', { requestId: 'r' });
    expect(provider.calls[0]?.messages).toEqual([
      { role: 'system', content: 'You add.' },
      { role: 'user', content: 'earlier' },
      { role: 'assistant', content: 'before' },
      { role: 'user', content: '1 and 2?' },
    ]);
  });

  test('are stored under the agent and the run id, without the system prompt', async () => {
    const memory = memoryOf([]);
    const { agent } = agentOf([callAdd(1, 2), '3'], { memory });
    await agent.run('1 and 2?', { requestId: 'r' });
    expect(memory.addMessage.mock.calls.map(([agentId, runId, { role }]) => [agentId, runId, role])).toEqual([
      ['calculator', 'r', 'user'],
      ['calculator', 'r', 'assistant'],
      ['calculator', 'r', 'tool'],
      ['calculator', 'r', 'assistant'],
    ]);
  });

  test('run ids are the request id or random', async () => {
    const { agent } = agentOf(['a', 'b', 'c']);
    expect((await agent.run('x', { requestId: 'r' })).runId).toBe('r');
    expect((await agent.run('x')).runId).not.toBe((await agent.run('x')).runId);
  });
});

describe('turns', () => {
  test('continue until the model answers with text only', async () => {
    const { agent, provider } = agentOf([callAdd(1, 2), { ...callAdd(3, 4), content: 'almost' }, 'Seven.']);
    const result = await agent.run('1 and 2, and 4?');
    expect(result).toMatchObject({
      agentName: 'calculator',
      status: 'completed',
      output: 'Seven.',
      toolCalls: [
        { toolCallId: 'call_1', name: 'add', result: 3 },
        { toolCallId: 'call_2', name: 'add', result: 7 },
      ],
      tokenUsage: { promptTokens: 30, completionTokens: 15, totalTokens: 45 },
    });
    expect(result.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'system: You add.',
      'user: 1 and 2, and 4?',
      'assistant: ',
      'tool: 3',
      'assistant: almost',
      'tool: 7',
      'assistant: Seven.',
    ]);
    provider.assertDone();
  });

  test('report each call to onTokenUsage of the agent and of the run', async () => {
    const ofAgent = vi.fn();
    const ofRun = vi.fn();
    const { agent } = agentOf([callAdd(1, 2), '3'], { onTokenUsage: ofAgent });
    await agent.run('x', { onTokenUsage: ofRun });
    const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
    expect(ofAgent.mock.calls).toEqual([[usage], [usage]]);
    expect(ofRun.mock.calls).toEqual([[usage], [usage]]);
  });

  test('decide on content, not on finishReason', async () => {
    const { agent } = agentOf([
      { ...callAdd(1, 2), finishReason: 'stop' },
      { content: 'three', finishReason: 'tool_calls' },
    ]);
    expect(await agent.run('x')).toMatchObject({ status: 'completed', output: 'three' });
  });

  test('offer the tools to the model, with its options', async () => {
    const { agent, provider } = agentOf(['ok'], { model: { model: 'm', temperature: 0.2, maxTokens: 7 } });
    await agent.run('x');
    const { name, description, parameters } = add;
    expect(provider.calls[0]?.options).toEqual({
      model: 'm',
      temperature: 0.2,
      maxTokens: 7,
      tools: [{ name, description, parameters }],
      signal: expect.any(AbortSignal),
    });
  });

  test('with calls at the token limit execute none of them, and inform the model', async () => {
    const execute = vi.fn(async () => 1);
    const { agent } = agentOf([{ ...callAdd(1, 2), finishReason: 'length' }, 'ok'], { tools: [{ ...add, execute }] });
    const result = await agent.run('x');
    expect(execute).not.toHaveBeenCalled();
    expect(result.messages.at(-2)).toMatchObject({
      role: 'tool',
      toolCallId: 'call_1',
      content: expect.stringContaining('token limit'),
    });
    expect(result.status).toBe('completed');
  });

  test('execute a call once that the model repeats within one answer', async () => {
    const execute = vi.fn(async () => 1);
    const call = { name: 'add', arguments: { a: 1, b: 2 }, id: 'same' };
    const { agent } = agentOf([{ toolCalls: [call, call] }, 'ok'], { tools: [{ ...add, execute }] });
    const { toolCalls } = await agent.run('x');
    expect(execute).toHaveBeenCalledTimes(1);
    expect(toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['same']);
  });

  test('assign a new id to another call with the same id or none', async () => {
    const call = (a: number, id: string) => ({ name: 'add', arguments: { a, b: 2 }, id });
    const { agent, provider } = agentOf([
      { toolCalls: [call(1, 'same'), call(2, 'same'), call(3, '')] },
      { toolCalls: [call(4, 'same')] },
      'ok',
    ]);
    const { toolCalls } = await agent.run('x');
    expect(toolCalls.map(({ result }) => result)).toEqual([3, 4, 5, 6]);
    expect(new Set(toolCalls.map(({ toolCallId }) => toolCallId)).size).toBe(4);
    expect(toolCalls[0]?.toolCallId).toBe('same');
    // OpenAI rejects longer ids.
    for (const { toolCallId } of toolCalls) expect(toolCallId.length).toBeLessThanOrEqual(40);
    const { messages } = provider.calls[2] ?? expect.fail();
    const asked = messages.flatMap(({ toolCalls: calls = [] }) => calls.map(({ id }) => id));
    expect(messages.flatMap(({ toolCallId = [] }) => toolCallId)).toEqual(asked);
  });

  test('with a call that the vendor could not read inform the model', async () => {
    const answers = [
      { content: '', usage: usageOf(5), finishReason: 'stop' as const, unreadableCall: 'bad brackets' },
      { content: 'ok', usage: usageOf(5), finishReason: 'stop' as const },
    ];
    const chat = vi.fn(async () => answers.shift() ?? expect.fail());
    const { agent } = agentOf([], { provider: { chat } });
    const result = await agent.run('x');
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    expect(result.messages.at(-2)).toMatchObject({ role: 'user', content: expect.stringContaining('bad brackets') });
  });
});

test('input that is not a string rejects', async () => {
  const { agent } = agentOf([]);
  // Wrong on purpose: the compiler rejects it.
  await expect(agent.run(7 as unknown as string)).rejects.toThrow(
    'input of agent "calculator" must be a string or a list of parts, got 7',
  );
  await expect(agent.run('x', { requestId: '' })).rejects.toThrow('requestId of run must be a non-empty string');
});

test.each<[string, unknown]>([
  ['option of run must be one of requestId, ', { requestID: 'chat-7' }],
  ['requestId of run must be a non-empty string, got 7', { requestId: 7 }],
  ['hubCtx of run must be the context of a handler or a tool, got 7', { hubCtx: 7 }],
  ['signal of run must be an AbortSignal, got an object', { signal: {} }],
  ['onTokenUsage of run must be a function, got 7', { onTokenUsage: 7 }],
  ['options of run must be an object, got null', null],
])('makes no model call if %s', async (message, options) => {
  const { agent, provider } = agentOf(['unused']);
  // Wrong on purpose: the compiler rejects it.
  await expect(agent.run('x', options as AgentRunOptions)).rejects.toThrow(message);
  expect(provider.calls).toEqual([]);
});
