import { describe, expect, test, vi } from 'vitest';
import { createFakeClock } from '../testing/fake-clock.js';
import { type ScriptEntry, scriptedProvider } from '../testing/scripted-provider.js';
import { createAgent } from './agent.js';
import type { AgentConfig } from './agent-config.js';
import { EmptyAnswerError, StuckLoopError } from './errors.js';
import type { AgentMemory } from './memory/agent-memory.js';
import { ProviderError } from './providers/provider-error.js';
import { createTool } from './tool.js';

const add = createTool({
  name: 'add',
  description: 'Adds two numbers',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  execute: async ({ a, b }: { a: number; b: number }) => a + b,
});

function agentOf(script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}) {
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

const callAdd = (a: number, b: number, id?: string) => ({
  toolCalls: [{ name: 'add', arguments: { a, b }, ...(id && { id }) }],
});

describe('messages', () => {
  test('are the system prompt, what memory holds, and the input', async () => {
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

  test('are stored under the agent and the run id, the system prompt left out', async () => {
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

  test('run ids are the request id, or random', async () => {
    const { agent } = agentOf(['a', 'b', 'c']);
    expect((await agent.run('x', { requestId: 'r' })).runId).toBe('r');
    expect((await agent.run('x')).runId).not.toBe((await agent.run('x')).runId);
  });
});

describe('turns', () => {
  test('go on until the model answers with text alone', async () => {
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
    });
  });

  test('with calls cut at the token limit run none of them, and tell the model', async () => {
    const execute = vi.fn(async () => 1);
    const { agent } = agentOf([{ ...callAdd(1, 2), finishReason: 'length' }, 'ok'], { tools: [{ ...add, execute }] });
    const result = await agent.run('x');
    expect(execute).not.toHaveBeenCalled();
    expect(result.messages.at(-2)).toMatchObject({
      role: 'tool',
      toolCallId: 'call_1',
      content: expect.stringContaining('cut off'),
    });
    expect(result.status).toBe('completed');
  });

  test('that the vendor could not read are explained to the model', async () => {
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

describe('a run that does not complete', () => {
  test('has used maxIterations turns, and says the last thing the model said', async () => {
    const { agent, provider } = agentOf([{ ...callAdd(1, 2), content: 'hm' }, callAdd(2, 2)], { maxIterations: 2 });
    expect(await agent.run('x')).toMatchObject({
      status: 'max_iterations',
      output: 'hm',
      toolCalls: [{ result: 3 }, { result: 4 }],
    });
    provider.assertDone();
  });

  test('does ten turns unless told otherwise', async () => {
    const script = Array.from({ length: 10 }, (_, index) => callAdd(index, 1));
    const { agent, provider } = agentOf(script);
    expect((await agent.run('x')).status).toBe('max_iterations');
    provider.assertDone();
  });

  test('may spend one more turn without tools on an answer', async () => {
    const { agent, provider } = agentOf([callAdd(1, 2), 'Three, I think.'], {
      maxIterations: 1,
      finalAnswerTurn: true,
    });
    expect(await agent.run('x')).toMatchObject({ status: 'max_iterations', output: 'Three, I think.' });
    expect(provider.calls[1]?.options.tools).toBeUndefined();
  });

  test('failed where the provider did, with the error and what was said before', async () => {
    const { agent } = agentOf([{ ...callAdd(1, 2), content: 'hm' }, new Error('down')]);
    const result = await agent.run('x');
    expect(result).toMatchObject({ status: 'failed', output: 'hm', error: new Error('down') });
  });

  test('failed where the model answered with nothing twice in a row', async () => {
    const { agent } = agentOf(['', ' \n']);
    const result = await agent.run('x');
    expect(result.status).toBe('failed');
    expect(result.error).toBeInstanceOf(EmptyAnswerError);
  });

  test('goes on after one empty answer, which leaves no message behind', async () => {
    const { agent } = agentOf(['', 'here']);
    const result = await agent.run('x');
    expect(result).toMatchObject({ status: 'completed', output: 'here' });
    expect(result.messages).toHaveLength(3);
  });

  test('is told at the third same call in a row, and failed at the fifth', async () => {
    const execute = vi.fn(async () => 'nothing new');
    const { agent } = agentOf(
      Array.from({ length: 5 }, () => callAdd(1, 2)),
      { tools: [{ ...add, execute }] },
    );
    const result = await agent.run('x');
    expect(result.status).toBe('failed');
    expect(result.error).toBeInstanceOf(StuckLoopError);
    expect(execute).toHaveBeenCalledTimes(4);
    const contents = result.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(contents.map((content) => content.includes('in a row'))).toEqual([false, false, true, true, true]);
    expect(result.toolCalls.at(-1)?.error).toContain('too many times');
  });

  test.each([
    ['another call in between', [callAdd(1, 2), callAdd(1, 2), callAdd(9, 9), callAdd(1, 2), 'ok']],
    ['other arguments', [callAdd(1, 2), callAdd(1, 3), callAdd(1, 4), callAdd(1, 5), 'ok']],
  ])('is not told of repeats with %s', async (_, script) => {
    const { agent } = agentOf(script);
    const { messages, status } = await agent.run('x');
    expect(status).toBe('completed');
    expect(messages.some(({ content }) => content.includes('in a row'))).toBe(false);
  });

  test('ends at maxRepeats', async () => {
    const { agent } = agentOf([callAdd(1, 2), callAdd(1, 2)], { maxRepeats: 2 });
    expect((await agent.run('x')).error).toBeInstanceOf(StuckLoopError);
  });

  test.each([
    ['nothing', undefined],
    ['a number for its content', { content: 7, finishReason: 'stop', usage: usageOf(1) }],
    ['calls that are no array', { content: '', toolCalls: {}, finishReason: 'stop', usage: usageOf(1) }],
    ['arguments that are no text', { content: '', toolCalls: [{ id: 'a', name: 'add', arguments: { a: 1 } }] }],
  ])('failed where a provider of one’s own answers with %s', async (_, answer) => {
    // What the compiler would not let through.
    const provider = { chat: async () => answer } as unknown as AgentConfig['provider'];
    const { agent } = agentOf([], { provider });
    const { status, error } = await agent.run('x');
    expect(status).toBe('failed');
    expect(error?.message).toContain('the model provider must answer with');
  });

  test('failed where memory did, with every call answered', async () => {
    const memory = memoryOf([]);
    memory.addMessage.mockImplementation(async (_agent, _run, { role }) => {
      if (role === 'assistant') throw new Error('store is down');
    });
    const { agent } = agentOf([callAdd(1, 2)], { memory });
    const result = await agent.run('x');
    expect(result).toMatchObject({ status: 'failed', error: new Error('store is down') });
    expect(result.messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'call_1' });
  });

  test('failed where a callback of the application throws', async () => {
    const onTokenUsage = (): void => {
      throw new Error('meter');
    };
    const { agent } = agentOf(['ok'], { onTokenUsage });
    expect(await agent.run('x')).toMatchObject({ status: 'failed', error: new Error('meter') });
  });
});

describe('retry', () => {
  const unavailable = new ProviderError('busy', { provider: 'p', retryable: true });

  test('tries a failed call again after the delays of the policy', async () => {
    const clock = createFakeClock();
    const { agent, provider } = agentOf([unavailable, unavailable, 'ok'], {
      clock,
      retry: { initialDelayMs: 100, factor: 2, jitter: false },
    });
    const run = agent.run('x');
    await clock.advance(99);
    expect(provider.calls).toHaveLength(1);
    await clock.advance(1);
    expect(provider.calls).toHaveLength(2);
    await clock.advance(200);
    expect(await run).toMatchObject({ status: 'completed', output: 'ok' });
  });

  test('waits as long as the vendor asks', async () => {
    const clock = createFakeClock();
    const limited = new ProviderError('slow down', { provider: 'p', retryable: true, retryAfterMs: 7000 });
    const { agent, provider } = agentOf([limited, 'ok'], { clock, retry: { initialDelayMs: 1 } });
    const run = agent.run('x');
    await clock.advance(6999);
    expect(provider.calls).toHaveLength(1);
    await clock.advance(1);
    expect((await run).status).toBe('completed');
  });

  test.each([
    ['without a policy', unavailable, undefined, 1],
    ['of what is not retryable', new ProviderError('no', { provider: 'p', retryable: false }), {}, 1],
    ['of what retryIf refuses', unavailable, { retryIf: () => false }, 1],
    ['past maxAttempts', unavailable, { maxAttempts: 2, initialDelayMs: 0 }, 2],
  ])('does not happen %s', async (_, error, retry, attempts) => {
    const { agent, provider } = agentOf([error, error, error], retry === undefined ? {} : { retry });
    expect(await agent.run('x')).toMatchObject({ status: 'failed', error });
    expect(provider.calls).toHaveLength(attempts);
  });

  test('counts what a failed call is known to have cost', async () => {
    const cut = new ProviderError('cut', { provider: 'p', retryable: true, usage: usageOf(100) });
    const { agent } = agentOf([cut, 'ok'], { retry: { initialDelayMs: 0 } });
    expect((await agent.run('x')).tokenUsage.totalTokens).toBe(115);
  });
});

describe('abort', () => {
  test('rejects with the reason before anything is asked', async () => {
    const { agent, provider } = agentOf(['ok']);
    const reason = new Error('changed my mind');
    await expect(agent.run('x', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(provider.calls).toHaveLength(0);
  });

  test('rejects while a provider hangs that ignores the signal, and gave it one', async () => {
    const controller = new AbortController();
    const chat = vi.fn(() => new Promise<never>(() => {}));
    const { agent } = agentOf([], { provider: { chat } });
    const run = agent.run('x', { signal: controller.signal });
    await vi.waitFor(() => expect(chat).toHaveBeenCalled());
    controller.abort('enough');
    await expect(run).rejects.toBe('enough');
    expect(chat.mock.lastCall).toMatchObject([expect.anything(), { signal: controller.signal }]);
  });

  test('rejects while a retry waits, and leaves no timer', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const { agent } = agentOf([new Error('down')], { clock, retry: { initialDelayMs: 1000 } });
    const run = agent.run('x', { signal: controller.signal });
    await clock.settle();
    expect(clock.pendingTimers).toBe(1);
    controller.abort('enough');
    await expect(run).rejects.toBe('enough');
    expect(clock.pendingTimers).toBe(0);
  });

  test('reaches tools, gives up those that ignore it, and leaves every call with its result in memory', async () => {
    const controller = new AbortController();
    const memory = memoryOf([]);
    const seen: AbortSignal[] = [];
    const hang = createTool({
      ...add,
      execute: (_input: unknown, ctx) => {
        seen.push(ctx.signal);
        return new Promise<never>(() => {});
      },
    });
    const { agent } = agentOf([{ toolCalls: [...callAdd(1, 2).toolCalls, ...callAdd(3, 4).toolCalls] }], {
      memory,
      tools: [hang],
    });
    const run = agent.run('x', { signal: controller.signal });
    await vi.waitFor(() => expect(seen).toHaveLength(2));
    controller.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    expect(seen.every(({ aborted }) => aborted)).toBe(true);
    const stored = memory.addMessage.mock.calls.map(([, , message]) => message);
    expect(stored.slice(2)).toEqual([
      { role: 'tool', toolCallId: 'call_1', content: 'Error: enough' },
      { role: 'tool', toolCallId: 'call_2', content: 'Error: enough' },
    ]);
  });
});

test('input that is no string is a programming mistake', async () => {
  const { agent } = agentOf([]);
  // What the compiler would not let through.
  await expect(agent.run(7 as unknown as string)).rejects.toThrow(
    'input of agent "calculator" must be a string, got 7',
  );
  await expect(agent.run('x', { requestId: '' })).rejects.toThrow('requestId must be a non-empty string');
});

function usageOf(total: number) {
  return { promptTokens: total - 1, completionTokens: 1, totalTokens: total };
}

function memoryOf(messages: Awaited<ReturnType<AgentMemory['getMessages']>>) {
  return {
    addMessage: vi.fn<AgentMemory['addMessage']>(async () => {}),
    getMessages: vi.fn<AgentMemory['getMessages']>(async () => messages),
    clear: vi.fn<AgentMemory['clear']>(async () => {}),
  };
}
