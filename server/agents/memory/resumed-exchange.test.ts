import { describe, expect, test, vi } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import type { AgentContext } from '../agent/agent-context.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { StuckLoopError } from '../errors.js';
import type { Message } from '../model/message.js';
import { ProviderError } from '../model/provider-error.js';
import { createTool, type Tool } from '../tools/tool.js';
import { ConversationMemory, type ConversationMemoryOptions } from './conversation-memory.js';
import { expectWellPaired } from './well-paired.fixture.js';

const down = new ProviderError('down', { provider: 'p', statusCode: 503, retryable: true });
const call = (name: string, count = 1) => ({ toolCalls: Array.from({ length: count }, () => ({ name })) });

function setUp(options: Partial<ConversationMemoryOptions> = {}) {
  const transport = memoryTransport({ clock: createFakeClock() }).connect({ service: 's', logger: silentLogger });
  const memory = new ConversationMemory({ transport, ...options });
  const run = vi.fn(async (_input: unknown, _ctx: AgentContext): Promise<unknown> => 'done');
  const agentOf = (script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}, tool: Partial<Tool> = {}) => {
    const provider = scriptedProvider(script);
    const work: Tool = { ...createTool({ name: 'work', description: '', parameters: {}, execute: run }), ...tool };
    const required = { name: 'a', systemPrompt: '', provider, model: { model: 'm' }, memory, maxRepeats: 1_000 };
    return { provider, agent: createAgent({ ...required, tools: [work], ...config }) };
  };
  return { memory, run, agentOf };
}

const chat = { conversationId: 'chat' };
const textsOf = (messages: readonly Message[] = []): string[] => messages.map(({ content }) => content);

describe('a long exchange', () => {
  test.each([
    ['the default limit', {}, 8, 30],
    ['maxMessages', { maxMessages: 40 }, 9, 8],
  ])('beyond %s erases no conversation, and a retry repeats none of its calls', async (_, options, turns, calls) => {
    const { memory, run, agentOf } = setUp(options);
    const script = Array.from({ length: turns }, () => call('work', calls));
    const first = agentOf([...script, down]);
    const attempt = { ...chat, idempotencyKey: 'k' };
    expect((await first.agent.run('the question', attempt)).status).toBe('failed');
    const stored = await memory.getMessages('a', 'chat');
    expectWellPaired(stored);
    expect(stored[0]?.content).toBe('the question');
    expect(stored.length).toBeGreaterThan(1);
    const { provider, agent } = agentOf(['the answer']);
    expect(await agent.run('the question', attempt)).toMatchObject({ status: 'completed', output: 'the answer' });
    expect(run).toHaveBeenCalledTimes(turns * calls);
    expect(provider.calls[0]?.messages[0]?.content).toBe('the question');
    const next = agentOf(['yes']);
    await next.agent.run('the next one', chat);
    expect(textsOf(next.provider.calls[0]?.messages)).toEqual(expect.arrayContaining(['the question', 'the answer']));
  });
});

describe('a retry', () => {
  test('counts the repetitions of earlier attempts', async () => {
    const { agentOf, run } = setUp();
    const attempt = { ...chat, idempotencyKey: 'k' };
    const first = agentOf([call('work'), call('work'), down], { maxRepeats: 3 });
    expect((await first.agent.run('go', attempt)).status).toBe('failed');
    const second = agentOf([call('work')], { maxRepeats: 3 });
    expect((await second.agent.run('go', attempt)).error).toBeInstanceOf(StuckLoopError);
    expect(run).toHaveBeenCalledTimes(2);
  });

  test('after an unreadable call calls the model again', async () => {
    const { agentOf, memory } = setUp();
    const unreadable = {
      content: 'Let me look that up.',
      usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 },
    };
    let calls = 0;
    const failing = {
      chat: async () => {
        if (++calls > 1) throw down;
        return { ...unreadable, finishReason: 'stop' as const, unreadableCall: 'no closing brace' };
      },
    };
    const attempt = { ...chat, idempotencyKey: 'k' };
    expect((await agentOf([], { provider: failing }).agent.run('How tall?', attempt)).status).toBe('failed');
    const { provider, agent } = agentOf(['Two metres.']);
    expect(await agent.run('How tall?', attempt)).toMatchObject({ status: 'completed', output: 'Two metres.' });
    provider.assertDone();
    // The note about the call is not part of the conversation.
    expect(textsOf(await memory.getMessages('a', 'chat'))).toEqual([
      'How tall?',
      'Let me look that up.',
      'Two metres.',
    ]);
  });

  test('with another question in between pays nothing twice, and keeps its call behind its question', async () => {
    const { run, agentOf } = setUp();
    await agentOf([call('work'), down]).agent.run('pay', { ...chat, idempotencyKey: 'k' });
    await agentOf(['No idea']).agent.run('another question', chat);
    const resumed = agentOf(['Paid']);
    await resumed.agent.run('pay', { ...chat, idempotencyKey: 'k' });
    expect(textsOf(resumed.provider.calls[0]?.messages)).toEqual(['another question', 'No idea', 'pay', '', 'done']);
    const answered = await agentOf([]).agent.run('pay', { ...chat, idempotencyKey: 'k' });
    expect(answered).toMatchObject({ status: 'completed', output: 'Paid' });
    expect(run).toHaveBeenCalledTimes(1);
  });

  test.each<[string, Partial<AgentConfig>, ScriptEntry[]]>([
    ['max_iterations', { maxIterations: 2 }, [{ ...call('work'), content: 'half a thought' }, call('work')]],
    ['token_budget_exceeded', { tokenBudget: 20 }, [{ ...call('work'), content: 'half a thought' }]],
    ['max_iterations', { maxIterations: 1, finalAnswerTurn: true }, [call('work'), 'half a thought']],
  ])('after %s has the same status, without a model call', async (status, config, script) => {
    const { agentOf } = setUp();
    const attempt = { ...chat, idempotencyKey: 'k' };
    expect(await agentOf(script, config).agent.run('x', attempt)).toMatchObject({ status });
    const again = await agentOf([], config).agent.run('x', attempt);
    expect(again).toMatchObject({ status, output: 'half a thought' });
  });

  test('counts turns, tokens, tool calls and repetitions over all attempts', async () => {
    const { agentOf } = setUp();
    const attempt = { ...chat, idempotencyKey: 'k' };
    const limits = { maxIterations: 3, maxToolCalls: 3, maxRepeats: 3 };
    await agentOf([call('work', 2), down], limits).agent.run('x', attempt);
    const different = {
      toolCalls: [
        { name: 'work', arguments: { other: 1 } },
        { name: 'work', arguments: { other: 2 } },
      ],
    };
    const second = await agentOf([different, down], limits).agent.run('x', attempt);
    expect(second.toolCalls.map(({ error }) => error?.includes('maxToolCalls (3)') ?? false)).toEqual([false, true]);
    expect(await agentOf([call('work')], limits).agent.run('x', attempt)).toMatchObject({ status: 'max_iterations' });
    expect((await agentOf([], { ...limits, tokenBudget: 40 }).agent.run('x', attempt)).status).toBe('max_iterations');
  });

  test('returns a truncated answer with its mark', async () => {
    const { agentOf } = setUp();
    const attempt = { ...chat, idempotencyKey: 'k' };
    await agentOf([{ content: '{"half":', finishReason: 'length' }]).agent.run('x', attempt);
    expect(await agentOf([]).agent.run('x', attempt)).toMatchObject({ output: '{"half":', truncated: true });
  });
});

describe('a call that was interrupted', () => {
  async function interrupt(tool: Partial<Tool>) {
    const { run, agentOf } = setUp();
    const controller = new AbortController();
    const keys: unknown[] = [];
    let count = 0;
    run.mockImplementation(async (_input, ctx) => {
      keys.push(ctx.callKey);
      if (++count === 1) return 'first';
      if (count > 2) return 'again';
      // After the result of the first call.
      await new Promise<void>((resolve) => setImmediate(resolve));
      controller.abort(new Error('handler timed out'));
      return new Promise(() => {});
    });
    const attempt = { ...chat, idempotencyKey: 'k' };
    const aborted = agentOf([call('work', 2)], {}, tool).agent.run('pay', { ...attempt, signal: controller.signal });
    await expect(aborted).rejects.toThrow('handler timed out');
    const { provider, agent } = agentOf(['ok'], {}, tool);
    expect((await agent.run('pay', attempt)).status).toBe('completed');
    expect(provider.calls).toHaveLength(1);
    const sent = provider.calls[0]?.messages ?? [];
    expectWellPaired(sent);
    return { keys, results: textsOf(sent).slice(2) };
  }

  test('runs again with the same callKey, and a recorded one does not', async () => {
    const { keys, results } = await interrupt({});
    expect(results).toEqual(['first', 'again']);
    expect(keys[2]).toBe(keys[1]);
    expect(keys[0]).not.toBe(keys[1]);
    expect(keys[0]).toMatch(/^[\w-]{43}$/);
  });

  test('is reported to the model if the tool is not retryable', async () => {
    const { keys, results } = await interrupt({ retryable: false });
    expect(keys).toHaveLength(2);
    expect(results).toEqual(['first', expect.stringContaining('may or may not have been executed')]);
  });
});

describe('an answer that afterModel refused', () => {
  const attempt = { ...chat, idempotencyKey: 'k' };
  const refusing: Partial<AgentConfig> = {
    afterModel: ({ content }) => (content.includes('bad') ? { refuse: 'be kind' } : undefined),
  };
  const note = 'Your last answer was not accepted: be kind';

  test('has no call that a retry executes, and the model receives the reason', async () => {
    const { memory, run, agentOf } = setUp();
    const store = memory.addMessage.bind(memory);
    const writes = vi.spyOn(memory, 'addMessage').mockImplementation((agent, conversation, message) => {
      return message.role === 'tool' ? Promise.reject(new Error('killed')) : store(agent, conversation, message);
    });
    const died = await agentOf([{ ...call('work'), content: 'bad' }], refusing).agent.run('x', attempt);
    expect(died).toMatchObject({ status: 'failed', error: { message: 'killed' } });
    writes.mockRestore();
    const transcript = ['x', 'bad', 'Error: be kind'];
    const seenByOthers = textsOf(await memory.getMessages('a', 'chat'));
    const beforeTool = vi.fn<NonNullable<AgentConfig['beforeTool']>>();
    const { provider, agent } = agentOf(['good'], { ...refusing, beforeTool });
    const result = await agent.run('x', attempt);
    expect(run).not.toHaveBeenCalled();
    expect(beforeTool).not.toHaveBeenCalled();
    expect(result).toMatchObject({ status: 'completed', output: 'good', toolCalls: [{ error: 'be kind' }] });
    expect(textsOf(provider.calls[0]?.messages)).toEqual(transcript);
    expect(seenByOthers).toEqual(transcript);
    const stored = await memory.getMessages('a', 'chat');
    expect(textsOf(stored)).toEqual([...transcript, 'good']);
    expect(stored.map(({ exchange }) => exchange?.index)).toEqual([0, 1, 2, 3]);
  });

  test('is not continued in a retry, and is no output', async () => {
    const { memory, agentOf } = setUp();
    await agentOf(['bad', down], refusing).agent.run('x', attempt);
    const second = agentOf([down], refusing);
    expect(await second.agent.run('x', attempt)).toMatchObject({ status: 'failed', output: '' });
    expect(textsOf(second.provider.calls[0]?.messages)).toEqual(['x', 'bad', note]);
    await agentOf(['as bad', down], refusing).agent.run('x', attempt);
    const last = agentOf(['good'], refusing);
    expect(await last.agent.run('x', attempt)).toMatchObject({ status: 'completed', output: 'good' });
    expect(textsOf(last.provider.calls[0]?.messages)).toEqual(['x', 'bad', note, 'as bad', note]);
    expect(textsOf(await memory.getMessages('a', 'chat'))).toEqual(['x', 'bad', 'as bad', 'good']);
  });

  test('is no output of a run that ended with it, in the turn after maxIterations', async () => {
    const { memory, agentOf } = setUp();
    const config = { ...refusing, maxIterations: 1, finalAnswerTurn: true };
    const ended = { status: 'max_iterations', output: '' };
    expect(await agentOf([call('work'), 'bad'], config).agent.run('x', attempt)).toMatchObject(ended);
    expect(textsOf(await memory.getMessages('a', 'chat'))).toEqual(['x', '', 'done', 'bad']);
    expect(await agentOf([], config).agent.run('x', attempt)).toMatchObject(ended);
  });

  test('is no output of a run that ended with it, over its budget', async () => {
    const { agentOf } = setUp();
    const usage = { promptTokens: 900, completionTokens: 100, totalTokens: 1_000 };
    const config = { ...refusing, tokenBudget: 500 };
    const ended = { status: 'token_budget_exceeded', output: '' };
    expect(await agentOf([{ content: 'bad', usage }], config).agent.run('x', attempt)).toMatchObject(ended);
    expect(await agentOf([], config).agent.run('x', attempt)).toMatchObject(ended);
  });
});

test('a tool that exceeds its timeoutMs may have been executed, and the model is informed', async () => {
  const clock = createFakeClock();
  const { run, agentOf } = setUp();
  run.mockImplementation(() => new Promise(() => {}));
  const { agent, provider } = agentOf([call('work'), 'ok'], { clock }, { timeoutMs: 50 });
  const result = agent.run('pay');
  await vi.waitFor(() => expect(run).toHaveBeenCalled());
  await clock.advance(50);
  await result;
  expect(provider.calls[1]?.messages.at(-1)?.content).toContain('may or may not have been executed');
});
