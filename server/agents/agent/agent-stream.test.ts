import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { StreamClosedError } from '../errors.js';
import type { ModelProvider } from '../model/model-provider.js';
import { CutStreamError } from '../model/provider-error.js';
import type { AgentStreamEvent } from './agent-stream.js';

const add = {
  name: 'add',
  description: '',
  parameters: {},
  execute: async (input: unknown) => {
    const { a, b } = input as { a: number; b: number };
    return a + b;
  },
};

function agentOf(script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}) {
  const provider = scriptedProvider(script);
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, tools: [add], ...config });
  return { agent, provider };
}

async function collect(stream: AsyncIterable<AgentStreamEvent>): Promise<AgentStreamEvent[]> {
  const events: AgentStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const callAdd = { content: ['Let me', ' see'], toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] };

test('a stream contains the events of the run by turn', async () => {
  const { agent } = agentOf([callAdd, { content: ['Th', 'ree'] }]);
  const stream = agent.stream('x');
  const events = await collect(stream);
  const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
  expect(events).toEqual([
    { type: 'text-delta', turn: 1, text: 'Let me' },
    { type: 'text-delta', turn: 1, text: ' see' },
    { type: 'tool-call', turn: 1, toolCall: { id: 'call_1', name: 'add', arguments: '{"a":1,"b":2}' } },
    { type: 'tool-result', turn: 1, toolResult: expect.objectContaining({ toolCallId: 'call_1', result: 3 }) },
    { type: 'turn-end', turn: 1, usage, finishReason: 'tool_calls' },
    { type: 'text-delta', turn: 2, text: 'Th' },
    { type: 'text-delta', turn: 2, text: 'ree' },
    { type: 'turn-end', turn: 2, usage, finishReason: 'stop' },
    { type: 'run-end', result: expect.objectContaining({ status: 'completed', output: 'Three' }) },
  ]);
  const { messages, ...result } = await stream.result;
  expect(messages.length).toBeGreaterThan(0);
  expect(events.at(-1)).toEqual({ type: 'run-end', result });
});

test('a provider without chatStream yields its answer as one delta', async () => {
  const { agent, provider } = agentOf(['Three']);
  const chatOnly = createAgent({
    name: 'a',
    systemPrompt: '',
    provider: { chat: provider.chat },
    model: { model: 'm' },
  });
  expect((await collect(chatOnly.stream('x'))).map(({ type }) => type)).toEqual(['text-delta', 'turn-end', 'run-end']);
  expect(agent.name).toBe('a');
});

test('the result resolves even if nobody reads the events', async () => {
  const { agent } = agentOf([callAdd, 'Three']);
  expect(await agent.stream('x').result).toMatchObject({ status: 'completed', output: 'Three' });
});

test('a late reader receives a long answer completely', async () => {
  const pieces = 200_000;
  const { agent } = agentOf([], {
    provider: {
      chat: () => expect.fail('streams'),
      async *chatStream() {
        for (let i = 0; i < pieces; i++) yield { content: 'x' };
        yield { finishReason: 'stop' as const };
      },
    },
  });
  const stream = agent.stream('x');
  await stream.result;
  expect(await collect(stream)).toHaveLength(pieces + 2);
});

test('the text of a turn arrives before the turn ends', async () => {
  let finish: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { agent } = agentOf([], {
    provider: {
      chat: () => expect.fail('streams'),
      async *chatStream() {
        yield { content: 'early' };
        await gate;
        yield { finishReason: 'stop' as const };
      },
    },
  });
  const events = agent.stream('x')[Symbol.asyncIterator]();
  expect(await events.next()).toMatchObject({ value: { type: 'text-delta', text: 'early' } });
  finish();
  expect(await events.next()).toMatchObject({ value: { type: 'turn-end' } });
});

describe('leaving the loop early', () => {
  test('aborts the run, the model call included', async () => {
    let signal: AbortSignal | undefined;
    const { agent } = agentOf([], {
      provider: {
        chat: () => expect.fail('streams'),
        async *chatStream(_, options) {
          signal = options.signal;
          yield { content: 'some' };
          await new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal?.reason)));
        },
      },
    });
    const stream = agent.stream('x');
    for await (const { type } of stream) if (type === 'text-delta') break;
    expect(signal?.reason).toBeInstanceOf(StreamClosedError);
    await expect(stream.result).rejects.toBeInstanceOf(StreamClosedError);
  });

  test('ends the stream of a provider that ignores the signal', async () => {
    const ended = vi.fn();
    const { agent } = agentOf([], {
      provider: {
        chat: () => expect.fail('streams'),
        async *chatStream() {
          try {
            for (;;) yield await new Promise<{ content: string }>((r) => setImmediate(r, { content: 'more' }));
          } finally {
            ended();
          }
        },
      },
    });
    for await (const { type } of agent.stream('x')) if (type === 'text-delta') break;
    await vi.waitFor(() => expect(ended).toHaveBeenCalledTimes(1));
  });

  test.each([
    ['while the next event is awaited', true],
    ['before the first event is awaited', false],
  ])('aborts the run at once %s', async (_, isAwaiting) => {
    const chat = vi.fn<ModelProvider['chat']>(() => new Promise(() => {}));
    const { agent } = agentOf([], { provider: { chat } });
    const stream = agent.stream('x');
    const events = stream[Symbol.asyncIterator]();
    await vi.waitFor(() => expect(chat).toHaveBeenCalled());
    const next = isAwaiting ? events.next() : undefined;
    expect(await events.return?.()).toMatchObject({ done: true });
    expect(await (next ?? events.next())).toMatchObject({ done: true });
    expect(chat.mock.calls[0]?.[1].signal?.reason).toBeInstanceOf(StreamClosedError);
    await expect(stream.result).rejects.toBeInstanceOf(StreamClosedError);
  });

  test('after the end changes nothing', async () => {
    const { agent } = agentOf(['ok']);
    const stream = agent.stream('x');
    for await (const { type } of stream) if (type === 'run-end') break;
    expect(await stream.result).toMatchObject({ status: 'completed' });
  });
});

test('a second loop throws, and the first one receives all events', async () => {
  const { agent } = agentOf(['ok']);
  const stream = agent.stream('x');
  const [first, second] = await Promise.allSettled([collect(stream), collect(stream)]);
  expect(first).toMatchObject({ value: [{ type: 'text-delta' }, { type: 'turn-end' }, { type: 'run-end' }] });
  expect(second).toMatchObject({ reason: { code: 'ERR_STREAM_LOCKED' } });
});

test('an abort by the caller ends the loop with the reason', async () => {
  const controller = new AbortController();
  const chat = vi.fn(() => new Promise<never>(() => {}));
  const { agent } = agentOf([], { provider: { chat } });
  const reading = collect(agent.stream('x', { signal: controller.signal }));
  await vi.waitFor(() => expect(chat).toHaveBeenCalled());
  controller.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
});

describe('an interrupted stream', () => {
  test('is an error, not an answer', async () => {
    const { agent } = agentOf([{ content: 'half an ans', finishReason: null }]);
    const result = await agent.stream('x').result;
    expect(result.status).toBe('failed');
    expect(result.error).toBeInstanceOf(CutStreamError);
  });

  test('is retried only if no text was streamed', async () => {
    const retry = { initialDelayMs: 0 };
    const silent = agentOf([{ finishReason: null }, 'whole'], { retry });
    expect(await silent.agent.stream('x').result).toMatchObject({ status: 'completed', output: 'whole' });
    const shown = agentOf([{ content: 'half', finishReason: null }, 'whole'], { retry });
    const stream = shown.agent.stream('x');
    const texts = (await collect(stream)).filter(({ type }) => type === 'text-delta');
    expect(texts).toHaveLength(1);
    expect((await stream.result).status).toBe('failed');
  });
});

test('input that is not a string throws at once', () => {
  const { agent } = agentOf([]);
  // Wrong on purpose: the compiler rejects it.
  expect(() => agent.stream(undefined as unknown as string)).toThrow('input of agent "a" must be a string');
});

describe('a reader that stops reading', () => {
  const pieces = 1_000;
  const piece = 'x'.repeat(10_000);

  function endless() {
    const state = { produced: 0, isClosed: false };
    const { agent } = agentOf([], {
      provider: {
        chat: () => expect.fail('streams'),
        async *chatStream() {
          try {
            for (; state.produced < pieces; state.produced += 1) yield { content: piece };
            yield { finishReason: 'stop' };
          } finally {
            state.isClosed = true;
          }
        },
      },
    });
    return { agent, state };
  }

  test('stops the stream of the model, and receives the rest when it continues', async () => {
    const { agent, state } = endless();
    const stream = agent.stream('x');
    let text = 0;
    for await (const event of stream) {
      if (event.type !== 'text-delta') continue;
      text += event.text.length;
      if (text % (100 * piece.length) === 0) await nextTurn();
      // Two limits of 65,536 characters: what the reader has taken and not read yet, and what waits.
      expect(state.produced * piece.length - text).toBeLessThan(200_000);
    }
    expect(text).toBe(pieces * piece.length);
    expect((await stream.result).output).toHaveLength(text);
  });

  test('and leaves ends the stream of the model', async () => {
    const { agent, state } = endless();
    const stream = agent.stream('x');
    for await (const event of stream) {
      await nextTurn();
      if (event.type === 'text-delta') break;
    }
    await expect(stream.result).rejects.toThrow(StreamClosedError);
    await vi.waitFor(() => expect(state.isClosed).toBe(true));
    expect(state.produced).toBeLessThan(pieces);
  });
});
