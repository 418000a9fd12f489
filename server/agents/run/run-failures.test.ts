import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { createRedactor, publicErrorInfo } from '../../redaction.js';
import type { ScriptEntry } from '../../testing/scripted-provider.js';
import { AgentRunError } from '../agent/run-result.js';
import type { AgentConfig } from '../create-agent.js';
import { EmptyAnswerError, StuckLoopError, TruncatedOutputError } from '../errors.js';
import { add, agentOf, callAdd, memoryOf, usageOf } from '../scripted-agent.fixture.js';

describe('a run that does not complete', () => {
  test('uses maxIterations turns, and its output is the last text', async () => {
    const { agent, provider } = agentOf([{ ...callAdd(1, 2), content: 'hm' }, callAdd(2, 2)], { maxIterations: 2 });
    expect(await agent.run('x')).toMatchObject({
      status: 'max_iterations',
      output: 'hm',
      toolCalls: [{ result: 3 }, { result: 4 }],
    });
    provider.assertDone();
  });

  test('uses ten turns by default', async () => {
    const script = Array.from({ length: 10 }, (_, index) => callAdd(index, 1));
    const { agent, provider } = agentOf(script);
    expect((await agent.run('x')).status).toBe('max_iterations');
    provider.assertDone();
  });

  test('makes one more call without tools with finalAnswerTurn', async () => {
    const { agent, provider } = agentOf([callAdd(1, 2), 'Three, I think.'], {
      maxIterations: 1,
      finalAnswerTurn: true,
    });
    expect(await agent.run('x')).toMatchObject({ status: 'max_iterations', output: 'Three, I think.' });
    expect(provider.calls[1]?.options.tools).toBeUndefined();
  });

  test('fails with the provider’s error, and its output is the text so far', async () => {
    const { agent } = agentOf([{ ...callAdd(1, 2), content: 'hm' }, new Error('down')]);
    const result = await agent.run('x');
    expect(result).toMatchObject({ status: 'failed', output: 'hm', error: new Error('down') });
  });

  test('fails if the model returns an empty answer twice in a row', async () => {
    const { agent } = agentOf(['', ' \n']);
    const result = await agent.run('x');
    expect(result.status).toBe('failed');
    expect(result.error).toBeInstanceOf(EmptyAnswerError);
  });

  test.each([false, true])(
    'fails at once if the reasoning takes all tokens (with an outputSchema: %s)',
    async (isTyped) => {
      const truncated: ScriptEntry = { content: '', finishReason: 'length' };
      const { agent, provider } = agentOf([truncated, 'too late'], {
        model: { model: 'm', maxTokens: 700 },
        retry: { maxAttempts: 3, initialDelayMs: 0 },
        ...(isTyped && { outputSchema: { type: 'object' } }),
      });
      const { status, error } = await agent.run('x');
      expect(status).toBe('failed');
      expect(error).toBeInstanceOf(TruncatedOutputError);
      expect(error).toMatchObject({ fatal: true, message: expect.stringContaining('maxTokens of the model (700)') });
      expect(provider.calls).toHaveLength(1);
    },
  );

  test('continues after one empty answer, which adds no message', async () => {
    const { agent } = agentOf(['', 'here']);
    const result = await agent.run('x');
    expect(result).toMatchObject({ status: 'completed', output: 'here' });
    expect(result.messages).toHaveLength(3);
  });

  test('adds a note at the third repeated call, and fails at the fifth', async () => {
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
    expect(contents.map((content) => content.includes('same arguments in'))).toEqual([false, false, true, true, true]);
    expect(result.toolCalls.at(-1)?.error).toContain('too many turns');
  });

  test.each([
    ['another call in between', [callAdd(1, 2), callAdd(1, 2), callAdd(9, 9), callAdd(1, 2), 'ok']],
    ['other arguments', [callAdd(1, 2), callAdd(1, 3), callAdd(1, 4), callAdd(1, 5), 'ok']],
  ])('adds no note for %s', async (_, script) => {
    const { agent } = agentOf(script);
    const { messages, status } = await agent.run('x');
    expect(status).toBe('completed');
    expect(messages.some(({ content }) => content.includes('same arguments in'))).toBe(false);
  });

  test('executes the same call several times in one turn, because that is no loop', async () => {
    const same = { name: 'add', arguments: { a: 1, b: 2 } };
    const { agent } = agentOf([{ toolCalls: [same, same, same, same, same, same] }, 'six times three']);
    const { status, toolCalls, messages } = await agent.run('x');
    expect(status).toBe('completed');
    expect(toolCalls.map(({ result }) => result)).toEqual([3, 3, 3, 3, 3, 3]);
    expect(messages.some(({ content }) => content.includes('same arguments in'))).toBe(false);
  });

  test('ends at maxRepeats', async () => {
    const { agent } = agentOf([callAdd(1, 2), callAdd(1, 2)], { maxRepeats: 2 });
    expect((await agent.run('x')).error).toBeInstanceOf(StuckLoopError);
  });

  test('names a tool that the model invented to nobody but the model', async () => {
    const invented = { toolCalls: [{ name: 'alice@example.com', arguments: {} }] };
    const { agent } = agentOf([invented, invented], { maxRepeats: 2 });
    const result = await agent.run('x');
    const { error } = result;
    expect(error).toBeInstanceOf(StuckLoopError);
    expect(error?.message).toContain('"alice@example.com"');
    const shown = inspect(createRedactor().loggable(new AgentRunError(result)), { depth: 9 });
    expect(`${shown}${JSON.stringify(error)}${publicErrorInfo(error).message}`).not.toContain('alice');
    expect(publicErrorInfo(error).message).toContain('a tool that does not exist');
  });

  test.each([
    ['nothing', undefined],
    ['a number for its content', { content: 7, finishReason: 'stop', usage: usageOf(1) }],
    ['calls that are no array', { content: '', toolCalls: {}, finishReason: 'stop', usage: usageOf(1) }],
    ['arguments that are no text', { content: '', toolCalls: [{ id: 'a', name: 'add', arguments: { a: 1 } }] }],
  ])('fails if a custom provider returns %s', async (_, answer) => {
    // Wrong on purpose: the compiler rejects it.
    const provider = { chat: async () => answer } as unknown as AgentConfig['provider'];
    const { agent } = agentOf([], { provider });
    const { status, error } = await agent.run('x');
    expect(status).toBe('failed');
    expect(error?.message).toContain('the model provider must return');
  });

  test('fails with the error of the memory, and every call has a result', async () => {
    const memory = memoryOf([]);
    memory.addMessage.mockImplementation(async (_agent, _run, { role }) => {
      if (role === 'assistant') throw new Error('store is down');
    });
    const { agent } = agentOf([callAdd(1, 2)], { memory });
    const result = await agent.run('x');
    expect(result).toMatchObject({ status: 'failed', error: new Error('store is down') });
    expect(result.messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'call_1' });
  });

  test.each([
    ['whose message is no text', Object.assign(new Error(), { message: Symbol('x') })],
    [
      'whose message cannot be read',
      Object.defineProperty(new Error(), 'message', { get: () => expect.fail('unreadable') }),
    ],
    ['that is none', 'down'],
  ])('fails after a thrown value %s', async (_, thrown) => {
    const { agent } = agentOf([], { provider: { chat: () => Promise.reject(thrown) } });
    const { status, error } = await agent.run('x');
    expect(status).toBe('failed');
    expect(error).toBeInstanceOf(Error);
  });
});
