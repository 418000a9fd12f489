import { inspect } from 'node:util';
import { LLMock } from '@copilotkit/aimock';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { freePort } from '../../../scripts/listen-locally.js';
import { handlerInfo } from '../../hub/events/reported-agents.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import type { AgentStreamEvent } from '../agent/agent-stream.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import type { Message } from '../model/message.js';
import type { ModelProvider } from '../model/model-provider.js';
import { CutStreamError, ProviderError } from '../model/provider-error.js';
import { double, vendors } from './vendors.fixture.js';
import { record, serve, type WireServer } from './wire.fixture.js';

const apiKey = 'sk-very-secret-0123456789';
const usage = {
  ...{ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  ...{ input_tokens: 11, output_tokens: 7 },
  ...{ promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
};
const perCall = { promptTokens: 11, completionTokens: 7, totalTokens: 18 };

describe.each(vendors)('$name', (vendor) => {
  let mock: LLMock;
  let wire: WireServer;
  let provider: Required<ModelProvider>;

  beforeEach(async () => {
    mock = await LLMock.create({ port: 0, strict: true });
    wire = await record(mock.url);
    provider = vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });
  });

  afterEach(async () => {
    await wire.close();
    await mock.stop();
  });

  const agentOf = (config: Partial<AgentConfig> = {}) =>
    createAgent({
      name: 'a',
      systemPrompt: 'Be brief.',
      provider,
      model: { model: vendor.model, temperature: 0.3, maxTokens: 50 },
      tools: [double],
      ...config,
    });

  const run = (how: 'run' | 'stream', question: string, config?: Partial<AgentConfig>) => {
    const agent = agentOf(config);
    return how === 'run' ? agent.run(question) : agent.stream(question).result;
  };

  describe.each(['run', 'stream'] as const)('%s', (how) => {
    const stream = how === 'stream';

    test('sends prompt, settings and tools, and returns text and usage', async () => {
      mock.onMessage('hello', { content: 'Hi there!', usage });
      const result = await run(how, 'hello');
      expect(result).toMatchObject({ status: 'completed', output: 'Hi there!', tokenUsage: perCall });
      expect(wire.requests.map(({ body }) => body)).toEqual([vendor.firstBody('hello', stream)]);
      const [header, format] = vendor.keyHeader;
      expect(wire.requests[0]?.headers[header]).toBe(format(apiKey));
      expect(wire.requests[0]?.path).not.toContain(apiKey);
    });

    test('supports parallel calls over several turns', async () => {
      mock.on(
        { userMessage: 'both', sequenceIndex: 0 },
        {
          content: 'Let me see.',
          toolCalls: [1, 2].map((a) => ({ name: 'double', arguments: { a } })),
          usage,
        },
      );
      mock.on(
        { userMessage: 'both', sequenceIndex: 1 },
        { toolCalls: [{ name: 'double', arguments: { a: 3 } }], usage },
      );
      mock.on({ userMessage: 'both', sequenceIndex: 2 }, { content: '2, 4 and 6', usage });
      const result = await run(how, 'both');
      expect(result).toMatchObject({
        status: 'completed',
        output: '2, 4 and 6',
        toolCalls: [{ result: { is: 2 } }, { result: { is: 4 } }, { result: { is: 6 } }],
        tokenUsage: { totalTokens: 54 },
      });
      const ids = result.toolCalls.map(({ toolCallId }) => toolCallId);
      expect(new Set(ids).size).toBe(3);
      expect(vendor.messagesOf(wire.requests[1]?.body)).toEqual(vendor.secondMessages('both', ids.slice(0, 2)));
    });

    test('requests the final answer without tools, in a form that the vendor accepts', async () => {
      mock.on({ userMessage: 'one', turnIndex: 0 }, { toolCalls: [{ name: 'double', arguments: { a: 1 } }], usage });
      mock.on({ userMessage: 'one', turnIndex: 1 }, { content: '2, I think', usage });
      const result = await run(how, 'one', { maxIterations: 1, finalAnswerTurn: true });
      expect(result).toMatchObject({ status: 'max_iterations', output: '2, I think' });
      expect(toolFields(wire.requests[1]?.body)).toEqual(vendor.pastTools(stream));
    });

    test('requests no longer answer than the vendor accepts, whatever the budget', async () => {
      const limit = 64_000;
      await wire.close();
      const refuse = (body: unknown): string | undefined =>
        Number(vendor.maxTokensOf(body)) > limit ? `max_tokens is too large, at most ${limit}` : undefined;
      wire = await record(mock.url, { refuse });
      provider = vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });
      mock.on({ userMessage: 'one', turnIndex: 0 }, { toolCalls: [{ name: 'double', arguments: { a: 1 } }], usage });
      mock.on({ userMessage: 'one', turnIndex: 1 }, { content: '2', usage });
      const model = { model: vendor.model, temperature: 0 };
      const result = await run(how, 'one', { provider, model, tokenBudget: 2 * limit });
      expect(result).toMatchObject({ status: 'completed', tokenUsage: { totalTokens: 36 } });
      expect(wire.requests.map(({ body }) => vendor.maxTokensOf(body))).toEqual(vendor.maxTokensSent(limit));
    });

    test('estimates the usage if the vendor does not report it', async () => {
      mock.onMessage('hello', { content: 'Hi there!', usage: zero(usage) });
      const { tokenUsage } = await run(how, 'hello');
      expect(tokenUsage.estimated).toBe(true);
      expect(tokenUsage.promptTokens).toBeGreaterThan(5);
    });

    test('retries a 429 after its Retry-After', async () => {
      const clock = createFakeClock();
      mock.on(
        { userMessage: 'hello', sequenceIndex: 0 },
        { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 7 },
      );
      mock.on({ userMessage: 'hello', sequenceIndex: 1 }, { content: 'Hi', usage });
      const after = vi.spyOn(clock, 'after');
      const result = run(how, 'hello', { clock, retry: { initialDelayMs: 1 } });
      await vi.waitFor(() => expect(after).toHaveBeenCalledWith(7_000, expect.any(Function)));
      await clock.advance(6999);
      expect(wire.requests).toHaveLength(1);
      await clock.advance(1);
      expect(await result).toMatchObject({ status: 'completed', output: 'Hi' });
    });

    test('retries a 500, at most maxAttempts times', async () => {
      mock.onMessage('hello', { error: { message: 'it broke', type: 'server_error' }, status: 500 });
      const { status, error } = await run(how, 'hello', { retry: { maxAttempts: 2, initialDelayMs: 0 } });
      expect(status).toBe('failed');
      expect(error).toMatchObject({
        statusCode: 500,
        retryable: true,
        vendorMessage: expect.stringContaining('it broke'),
      });
      expect(wire.requests).toHaveLength(2);
    });

    test.each([400, 401, 403, 404])('does not retry a %i', async (status) => {
      mock.onMessage('hello', { error: { message: `no, ${apiKey} is wrong`, type: 'authentication_error' }, status });
      const result = await run(how, 'hello', { retry: { initialDelayMs: 0 } });
      expect(result.error).toBeInstanceOf(ProviderError);
      expect(result.error).toMatchObject({ statusCode: status, retryable: false });
      expect(wire.requests).toHaveLength(1);
      expectNoKey(result.error);
    });

    test('reports a malformed body', async () => {
      mock.addFixture({ match: { userMessage: 'hello' }, response: { content: 'Hi' }, chaos: { malformedRate: 1 } });
      const { status, error } = await run(how, 'hello');
      expect(status).toBe('failed');
      expect(error).toBeInstanceOf(ProviderError);
      expectNoKey(error);
    });

    test('rejects at once if it is aborted while the vendor hangs', async () => {
      await wire.close();
      wire = await serve(() => {});
      provider = vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });
      const controller = new AbortController();
      const options = { signal: controller.signal };
      const agent = agentOf();
      const result = how === 'run' ? agent.run('hello', options) : agent.stream('hello', options).result;
      await vi.waitFor(() => expect(wire.requests).toHaveLength(1));
      controller.abort(new Error('enough'));
      await expect(result).rejects.toThrow('enough');
    });
  });

  test('streams text as it arrives', async () => {
    mock.onMessage('hello', { content: 'one two three four five six', usage }, { chunkSize: 4 });
    const texts: string[] = [];
    for await (const event of agentOf().stream('hello')) if (isText(event)) texts.push(event.text);
    expect(texts.length).toBeGreaterThan(3);
    expect(texts.join('')).toBe('one two three four five six');
  });

  test('treats an interrupted stream as a retryable error', async () => {
    mock.onMessage(
      'hello',
      { content: 'one two three four five six', usage },
      { chunkSize: 4, truncateAfterChunks: 3 },
    );
    const { status, error } = await agentOf().stream('hello').result;
    expect(status).toBe('failed');
    expect(error).toMatchObject({ retryable: true });
    expectNoKey(error);
  });

  test('treats a stream that ends without a finish reason as an error', async () => {
    const messages: Message[] = [{ role: 'user', content: 'hello' }];
    mock.onMessage('hello', { content: 'one two', usage });
    await wire.close();
    const change = (chunk: string): string =>
      chunk
        .replace(/"(finish_reason|finishReason)":"\w+"/g, '"x":1')
        .replace(/event: (message_(delta|stop)|response\.completed)[\s\S]*?\n\n/g, '');
    wire = await record(mock.url, { change });
    provider = vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });
    const read = async (): Promise<void> => {
      for await (const _ of provider.chatStream(messages, { model: vendor.model }));
    };
    await expect(read()).rejects.toMatchObject({ retryable: true, name: CutStreamError.name });
  });

  test('treats an unreachable vendor as retryable', async () => {
    provider = vendor.create({ apiKey, baseUrl: `http://127.0.0.1:${await freePort()}${vendor.basePath}` });
    const { error } = await agentOf().run('hello');
    expect(error).toMatchObject({
      name: 'ProviderError',
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expectNoKey(error);
  });

  test('never exposes its key', () => {
    expectNoKey(provider);
    const agent = agentOf();
    expectNoKey(agent);
    expectNoKey(agent.asHandler());
    expectNoKey(handlerInfo(agent.asHandler())?.agents());
  });
});

function expectNoKey(value: unknown): void {
  const shown = inspect(value, { depth: 20, showHidden: true, getters: true });
  expect(shown).not.toContain(apiKey);
  expect(JSON.stringify(value) ?? '').not.toContain(apiKey);
  expect(String(value)).not.toContain(apiKey);
  if (value instanceof Error) expect(`${value.stack}`).not.toContain(apiKey);
}

function isText(event: AgentStreamEvent): event is Extract<AgentStreamEvent, { type: 'text-delta' }> {
  return event.type === 'text-delta';
}

function toolFields(body: unknown): object {
  return Object.fromEntries(Object.entries(body ?? {}).filter(([name]) => name.startsWith('tool')));
}

function zero(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));
}
