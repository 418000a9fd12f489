import { describe, expect, test, vi } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { StuckLoopError } from '../errors.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import { expectWellPaired } from '../memory/well-paired.fixture.js';
import { estimateMessageTokens, type Message } from '../model/message.js';
import type { ModelProvider } from '../model/model-provider.js';
import { MediaResult, type Part } from '../model/part.js';
import { ModelTimeoutError, ProviderError } from '../model/provider-error.js';
import { memoryOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import { fitContext } from './model-caller.js';

const toolOf = (execute: () => Promise<unknown>) =>
  createTool({ name: 'work', description: '', parameters: {}, execute });

function agentOf(script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}) {
  const provider = scriptedProvider(script);
  return { provider, agent: createAgent({ name: 'a', systemPrompt: 's', provider, model: { model: 'm' }, ...config }) };
}
const call = { toolCalls: [{ name: 'work' }] };

describe('maxToolResultChars', () => {
  test.each([
    ['20,000 by default', 20_000, {}],
    ['its value', 100, { maxToolResultChars: 100 }],
  ])('cuts a result to %s for the model, and keeps the raw value', async (_, limit, config) => {
    const value = 'é'.repeat(10_000_000);
    const { agent, provider } = agentOf([call, 'ok'], { tools: [toolOf(async () => value)], ...config });
    const { toolCalls } = await agent.run('x');
    expect(toolCalls[0]?.result).toBe(value);
    const content = provider.calls[1]?.messages.at(-1)?.content ?? '';
    expect(content.length).toBeLessThan(limit + 100);
    expect(content).toContain(`${10_000_000 - limit} of 10000000 characters are missing`);
  });

  test('cuts an error, and no surrogate pair', async () => {
    const fail = async () => Promise.reject(new Error(`${'x'.repeat(92)}😀😀`));
    const { agent, provider } = agentOf([call, 'ok'], { tools: [toolOf(fail)], maxToolResultChars: 100 });
    await agent.run('x');
    expect(provider.calls[1]?.messages.at(-1)?.content).toMatch(/^Error: x{92}\n\n\[The result is cut: 4 of 103/);
  });
});

describe('contextTokens', () => {
  test('bounds every model call of a conversation, and keeps the system prompt, the input and the newest turn', async () => {
    const hub = memoryTransport().connect({ service: 's', logger: { debug() {}, info() {}, warn() {}, error() {} } });
    const memory = new ConversationMemory({ transport: hub });
    const contextTokens = 2_000;
    const config = { memory, contextTokens, tools: [toolOf(async () => 'y'.repeat(12_000))] };
    const script = [call, { toolCalls: [{ name: 'work' }, { name: 'work', arguments: { b: 1 } }] }, 'ok'];
    for (let question = 0; question < 5; question++) {
      const { agent, provider } = agentOf(script, config);
      const result = await agent.run(`question ${question}`, { conversationId: 'c' });
      expect(result.status).toBe('completed');
      expect(result.messages.filter(({ role }) => role === 'user')).toHaveLength(question + 1);
      for (const [index, { messages, options }] of provider.calls.entries()) {
        expectWellPaired(messages);
        expect(estimateMessageTokens(messages) + JSON.stringify(options.tools).length / 4).toBeLessThan(contextTokens);
        expect(messages[0]).toEqual({ role: 'system', content: 's' });
        expect(messages.map(({ content }) => content)).toContain(`question ${question}`);
        if (index > 0) expect(messages.at(-1)?.role).toBe('tool');
      }
    }
  });

  test.each(['contextTokens', 'maxTokens of the memory'])('%s counts reasoning and signatures', async (limit) => {
    const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
    const tokens = 5_000;
    const isContext = limit === 'contextTokens';
    const memory = new ConversationMemory({ transport, ...(!isContext && { maxTokens: tokens }) });
    // As the providers store it: the text again, reasoning, and a signature.
    const providerMetadata = {
      'anthropic.messages': [
        { type: 'reasoning', text: 'r'.repeat(3_000), metadata: { anthropic: { signature: 's'.repeat(1_000) } } },
        { type: 'text', text: 'ok' },
      ],
    };
    const sent: number[] = [];
    const provider: ModelProvider = {
      chat: async (messages) => {
        sent.push(JSON.stringify(messages).length / 4);
        const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
        return { content: 'ok', usage, finishReason: 'stop', providerMetadata };
      },
    };
    const config = { name: 'a', systemPrompt: 's', provider, model: { model: 'm' }, memory };
    const agent = createAgent({ ...config, ...(isContext && { contextTokens: tokens }) });
    for (let question = 0; question < 20; question++) await agent.run('question', { conversationId: 'c' });
    // The last conversations fill the limit; names of fields are not counted.
    expect(Math.max(...sent)).toBeGreaterThan(0.7 * tokens);
    expect(Math.max(...sent)).toBeLessThan(1.3 * tokens);
  });

  test('changes nothing that fits', () => {
    const messages = [{ role: 'user' as const, content: 'x' }];
    expect(fitContext(messages, 0, 100)).toBe(messages);
  });
});

describe('the media of a model call', () => {
  const imageOf = (chars: number): Part => ({ type: 'image', mediaType: 'image/png', data: 'A'.repeat(chars) });
  const photo = imageOf(7_000_000);
  const line = '[image: image/png, 5250000 bytes]';
  /** Contents of the messages, and characters or text of their parts. */
  const shapeOf = (messages: readonly Message[] = []): unknown[] =>
    messages.map(({ content, parts }) => [
      content,
      ...(parts ?? []).map((part) => (part.type === 'text' ? part.text : part.data?.length)),
    ]);

  test('are bounded over a conversation: a line replaces the oldest ones', async () => {
    const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
    const { agent, provider } = agentOf(['1', '2', '3', '4', '5'], { memory: new ConversationMemory({ transport }) });
    const two: Part[] = [{ type: 'text', text: 'Two' }, photo, photo];
    let result = await agent.run(two, { conversationId: 'c' });
    for (let run = 2; run <= 5; run++) result = await agent.run([photo], { conversationId: 'c' });
    const [, , third, fourth, fifth] = provider.calls.map(({ messages }) => shapeOf(messages).slice(1));
    expect(third?.[0]).toEqual(['Two', 'Two', 7_000_000, 7_000_000]);
    expect(fourth?.[0]).toEqual([`Two\n\n${line}`, 'Two', line, 7_000_000]);
    expect(fifth?.[0]).toEqual([`Two\n\n${line}\n\n${line}`]);
    expect(fifth?.slice(1)).toEqual(['1', '2', '3', '4'].flatMap((text) => [[text], ['', 7_000_000]]));
    expect(shapeOf(result.messages)[1]).toEqual(['Two', 'Two', 7_000_000, 7_000_000]);
  });

  test.each([{}, { contextTokens: 100_000 }])('are bounded within a run, beside its input: %o', async (config) => {
    const tools = [toolOf(async () => new MediaResult([photo]))];
    const calls = [1, 2, 3, 4].map((n) => ({ toolCalls: [{ name: 'work', arguments: { n } }] }));
    const { agent, provider } = agentOf([...calls, 'ok'], { tools, ...config });
    await agent.run([photo]);
    const [input, ...turns] = shapeOf(provider.calls[4]?.messages).slice(1);
    expect(input).toEqual(['', 7_000_000]);
    const shown = [line, 7_000_000];
    expect(turns).toEqual([[''], [line], [''], shown, [''], shown, [''], shown]);
    expectWellPaired(provider.calls[4]?.messages ?? []);
  });

  test('are those of the input alone if no others fit beside them', async () => {
    const earlier: Message[] = [
      { role: 'user', content: '', parts: [imageOf(4)] },
      { role: 'assistant', content: 'a dot' },
      { role: 'user', content: '', parts: [{ type: 'image', mediaType: 'image/png', url: 'https://example.com/a' }] },
      { role: 'assistant', content: 'a cat' },
    ];
    const { agent, provider } = agentOf(['ok'], { memory: memoryOf(earlier) });
    await agent.run([imageOf(33_554_432)], { conversationId: 'c' });
    const sent = shapeOf(provider.calls[0]?.messages).slice(1);
    expect(sent).toEqual([['[image: image/png, 3 bytes]'], ['a dot'], ['', undefined], ['a cat'], ['', 33_554_432]]);
  });
});

describe('a vendor’s Retry-After', () => {
  test.each([
    ['60 seconds by default', {}, 60_000],
    ['maxRetryAfterMs', { maxRetryAfterMs: 5_000 }, 5_000],
  ])('delays a retry by at most %s', async (_, config, delayMs) => {
    const clock = createFakeClock();
    const busy = new ProviderError('busy', { provider: 'p', retryable: true, retryAfterMs: 999_999_000 });
    const { agent, provider } = agentOf([busy, 'ok'], { clock, retry: {}, ...config });
    const run = agent.run('x');
    await clock.advance(delayMs - 1);
    expect(provider.calls).toHaveLength(1);
    await clock.advance(1);
    expect(await run).toMatchObject({ status: 'completed' });
  });
});

describe('timeoutMs of the model', () => {
  const silent = () => {
    const signals: (AbortSignal | undefined)[] = [];
    const chat = (_: unknown, { signal }: { signal?: AbortSignal }) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    };
    return { signals, provider: { chat } };
  };

  test.each([
    ['10 minutes by default', undefined, 600_000, {}],
    ['its value', 50, 50, {}],
    ['its value, with a budget', 50, 50, { tokenBudget: 1_000 }],
  ])('ends a call of a silent server after %s', async (_, timeoutMs, expected, config) => {
    const clock = createFakeClock();
    const { signals, provider } = silent();
    const model = { model: 'm', ...(timeoutMs !== undefined && { timeoutMs }) };
    const run = agentOf([], { clock, provider, model, ...config }).agent.run('x');
    await clock.advance(expected - 1);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    const { status, error, tokenUsage } = await run;
    expect(status).toBe('failed');
    expect(error).toBeInstanceOf(ModelTimeoutError);
    expect(signals[0]?.reason).toBe(error);
    // The request was sent, and may be charged.
    expect(tokenUsage).toMatchObject({ estimated: true });
    expect(clock.pendingTimers).toBe(0);
  });

  test('is retried, and leaves no timer after an answer', async () => {
    const clock = createFakeClock();
    const script = [{ content: 'late', delayMs: 100 }, 'ok'];
    const provider = scriptedProvider(script, { clock });
    const model = { model: 'm', timeoutMs: 50 };
    const { agent } = agentOf([], { clock, provider, model, retry: { initialDelayMs: 0 } });
    const run = agent.run('x');
    await clock.advance(60);
    expect(await run).toMatchObject({ output: 'ok' });
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('an answer at the token limit', () => {
  test('is completed and marked', async () => {
    const { agent } = agentOf([{ content: '{"half":', finishReason: 'length' }, 'whole']);
    expect(await agent.run('x')).toMatchObject({ status: 'completed', output: '{"half":', truncated: true });
    expect(await agent.run('x')).not.toHaveProperty('truncated');
  });
});

describe('onTokenUsage', () => {
  test.each<[string, () => void]>([
    [
      'throws',
      () => {
        throw new Error('meter is down');
      },
    ],
    ['rejects', async () => Promise.reject(new Error('meter is down'))],
  ])('that %s is logged and changes nothing', async (_, onTokenUsage) => {
    const error = vi.fn();
    const logger = { debug() {}, info() {}, warn() {}, error };
    const { agent } = agentOf(['ok'], { onTokenUsage, logger });
    expect(await agent.run('x')).toMatchObject({ status: 'completed', output: 'ok' });
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(error.mock.calls).toEqual([[{ err: new Error('meter is down') }, 'onTokenUsage of agent "a" failed']]);
  });
});

describe('repetition', () => {
  const callOf = (name: string, text: string): ScriptEntry => ({ toolCalls: [{ name, arguments: text }] });
  const tools = ['a', 'b', 'c'].map((name) =>
    createTool({ name, description: '', parameters: {}, execute: async () => 1 }),
  );
  const run = (script: readonly ScriptEntry[]) => agentOf(script, { tools, maxIterations: 50 }).agent.run('x');
  const times = (count: number, cycle: readonly ScriptEntry[]): ScriptEntry[] =>
    Array.from({ length: count }, () => cycle).flat();

  test.each([
    ['two turns', times(5, [callOf('a', '{}'), callOf('b', '{}')]).slice(0, 9)],
    ['three turns', times(5, [callOf('a', '{}'), callOf('b', '{}'), callOf('c', '{}')]).slice(0, 13)],
    [
      'one turn, with other spacing and order',
      times(5, [callOf('a', '{"x":1,"y":{"p":1,"q":2}}'), callOf('a', '{ "y" : {"q":2, "p":1}, "x":1 }')]).slice(0, 5),
    ],
    [
      'one turn, with empty arguments',
      [callOf('a', '{}'), callOf('a', ''), callOf('a', ' '), callOf('a', '{ }'), callOf('a', '')],
    ],
  ])('of a cycle of %s ends the run at the fifth time', async (_, script) => {
    const { error, toolCalls } = await run(script);
    expect(error).toBeInstanceOf(StuckLoopError);
    expect(toolCalls).toHaveLength(script.length);
  });

  test('is none while the turns make progress', async () => {
    const script = Array.from({ length: 12 }, (_, index) => [callOf('a', '{}'), callOf('b', `{"n":${index}}`)]).flat();
    expect((await run([...script, 'ok'])).status).toBe('completed');
  });
});

describe('tool calls', () => {
  test('run 16 at once by default, and at most maxToolCalls per run', async () => {
    let running = 0;
    let most = 0;
    const execute = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    };
    const calls = (turn: number) => ({
      toolCalls: Array.from({ length: 800 }, (_, index) => ({ name: 'work', arguments: { turn, index } })),
    });
    const { agent, provider } = agentOf([calls(1), calls(2), 'ok'], { tools: [toolOf(execute)] });
    const { status, toolCalls } = await agent.run('x');
    expect(status).toBe('completed');
    expect(most).toBe(16);
    expect(toolCalls.filter(({ error }) => error === undefined)).toHaveLength(1_000);
    expect(provider.calls.at(-1)?.messages.at(-1)?.content).toContain('maxToolCalls (1000)');
  });
});
