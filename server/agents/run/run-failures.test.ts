import { describe, expect, test, vi } from 'vitest';
import type { AgentConfig } from '../agent-config.js';
import { EmptyAnswerError, StuckLoopError } from '../errors.js';
import { add, agentOf, callAdd, memoryOf, usageOf } from '../scripted-agent.fixture.js';

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
    expect(result.toolCalls.at(-1)?.error).toContain('too many turns');
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

  test('carries out the same call many times in one turn, which is no loop', async () => {
    const same = { name: 'add', arguments: { a: 1, b: 2 } };
    const { agent } = agentOf([{ toolCalls: [same, same, same, same, same, same] }, 'six times three']);
    const { status, toolCalls, messages } = await agent.run('x');
    expect(status).toBe('completed');
    expect(toolCalls.map(({ result }) => result)).toEqual([3, 3, 3, 3, 3, 3]);
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

  test.each([
    ['whose message is no text', Object.assign(new Error(), { message: Symbol('x') })],
    [
      'whose message cannot be read',
      Object.defineProperty(new Error(), 'message', { get: () => expect.fail('unreadable') }),
    ],
    ['that is none', 'down'],
  ])('failed where something was thrown %s', async (_, thrown) => {
    const { agent } = agentOf([], { provider: { chat: () => Promise.reject(thrown) } });
    const { status, error } = await agent.run('x');
    expect(status).toBe('failed');
    expect(error).toBeInstanceOf(Error);
  });

  test('failed where a callback of the application throws', async () => {
    const onTokenUsage = (): void => {
      throw new Error('meter');
    };
    // A second call would be paid for too, and change nothing.
    const { agent, provider } = agentOf(['ok'], { onTokenUsage, retry: { initialDelayMs: 0 } });
    expect(await agent.run('x')).toMatchObject({ status: 'failed', error: new Error('meter') });
    provider.assertDone();
  });
});
