import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../create-agent.js';
import type { ModelOptions, ModelProvider, ModelStreamChunk } from '../model/model-provider.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider } from './vendor-providers.js';
import { double } from './vendors.fixture.js';
import { serve, type WireServer } from './wire.fixture.js';

const apiKey = 'sk-very-secret';
let wire: WireServer | undefined;

afterEach(() => wire?.close());

/** Answers each request with the next recorded body: JSON, or a stream of server-sent events. */
async function replay(...exchanges: { status?: number; headers?: Record<string, string>; body: unknown }[]) {
  let next = 0;
  const server = await serve((response) => {
    const { status = 200, headers = {}, body } = exchanges[next++] ?? { status: 500, body: {} };
    const type = typeof body === 'string' ? 'text/event-stream' : 'application/json';
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  wire = server;
  return server;
}

const events = (...data: unknown[]): string => data.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const named = (...data: ({ type: string } & Record<string, unknown>)[]): string =>
  data.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join('');
const ask: Parameters<ModelProvider['chat']>[0] = [{ role: 'user', content: 'hello' }];

async function drain(provider: Required<ModelProvider>, options: ModelOptions): Promise<ModelStreamChunk[]> {
  const chunks: ModelStreamChunk[] = [];
  for await (const chunk of provider.chatStream(ask, options)) chunks.push(chunk);
  return chunks;
}

const agentOf = (provider: ModelProvider, model: string) =>
  createAgent({ name: 'a', systemPrompt: '', provider, model: { model }, tools: [double] });

describe('OpenAI format', () => {
  const model = { model: 'mistral-large' };
  const answer = (message: object, finish_reason = 'stop') => ({
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'mistral-large',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
  });

  test('of another server: calls without a type or an id are accepted', async () => {
    const { url } = await replay({
      body: answer({ content: '', tool_calls: [{ function: { name: 'double', arguments: '{"a":1}' } }] }, 'tool_calls'),
    });
    const response = await new OpenAIProvider({ apiKey, baseUrl: `${url}/v1` }).chat(ask, model);
    expect(response).toMatchObject({
      finishReason: 'tool_calls',
      toolCalls: [{ id: expect.stringMatching(/./), name: 'double', arguments: '{"a":1}' }],
    });
  });

  test('of the vendor: its newer models receive max_completion_tokens', async () => {
    const { url, requests } = await replay({ body: answer({ content: 'hi' }) });
    const provider = new OpenAIProvider({ apiKey, baseUrl: `${url}/v1`, dialect: 'openai' });
    await provider.chat(ask, { model: 'o4-mini', maxTokens: 50 });
    expect(requests[0]?.body).toMatchObject({ max_completion_tokens: 50 });
    expect(requests[0]?.body).not.toHaveProperty('max_tokens');
  });

  test('of another server that refuses max_tokens: a budget holds under the other name', async () => {
    const names = (body: unknown) => Object.keys(body as object).filter((name) => name.startsWith('max_'));
    let written = 0;
    const server = await serve((response, { body }) => {
      const isRefused = names(body).includes('max_tokens');
      const { max_completion_tokens: limit = 5_000 } = body as { max_completion_tokens?: number };
      const tokens = Math.min(limit, 5_000);
      if (!isRefused) written += tokens + 5;
      const usage = { prompt_tokens: 5, completion_tokens: tokens, total_tokens: tokens + 5 };
      const call = { id: `c${written}`, type: 'function', function: { name: 'x', arguments: `{"n":${written}}` } };
      response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' });
      const message = "Unsupported parameter: 'max_tokens' is not supported with this model.";
      const refusal = { error: { message, code: 'unsupported_parameter' } };
      response.end(JSON.stringify(isRefused ? refusal : { ...answer({ content: '', tool_calls: [call] }), usage }));
    });
    onTestFinished(() => server.close());
    const provider = new OpenAIProvider({ apiKey, baseUrl: `${server.url}/v1` });
    for (const budget of [{ tokenBudget: 9_000 }, { costBudget: 9, prices: { m: { input: 1_000, output: 1_000 } } }]) {
      written = 0;
      const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, ...budget });
      expect(await agent.run('x')).toMatchObject({ status: 'token_budget_exceeded' });
      expect(written).toBeLessThanOrEqual(9_010);
    }
    expect(server.requests.filter(({ body }) => names(body).includes('max_tokens'))).toHaveLength(1);
  });

  test('a short key, as that of a server without keys, is no secret', async () => {
    const { url } = await replay({ status: 400, body: { error: { message: 'no model has no name' } } });
    const failure = new OpenAIProvider({ apiKey: 'no', baseUrl: `${url}/v1` }).chat(ask, model);
    await expect(failure).rejects.toMatchObject({ vendorMessage: 'no model has no name' });
  });

  test('an exhausted quota is not retryable, although its status is 429', async () => {
    const error = {
      message: 'You exceeded your current quota',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    };
    const { url } = await replay({ status: 429, headers: { 'x-request-id': 'req_7' }, body: { error } });
    const failure = new OpenAIProvider({ apiKey, baseUrl: `${url}/v1` }).chat(ask, model);
    await expect(failure).rejects.toMatchObject({ statusCode: 429, retryable: false, requestId: 'req_7' });
  });

  test('an error inside a stream is retryable according to its type', async () => {
    const chunk = { id: 'x', object: 'c', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'some' } }] };
    const { url } = await replay(
      { body: events(chunk, { error: { message: 'boom', type: 'server_error', code: null } }) },
      { body: events(chunk, { error: { message: 'too long', type: 'invalid_request_error', code: null } }) },
    );
    const provider = new OpenAIProvider({ apiKey, baseUrl: `${url}/v1` });
    await expect(drain(provider, model)).rejects.toMatchObject({
      retryable: true,
      vendorMessage: expect.stringContaining('boom'),
    });
    await expect(drain(provider, model)).rejects.toMatchObject({
      retryable: false,
      vendorMessage: expect.stringContaining('too long'),
    });
  });

  test.each(['https://api.openai.com/v1', 'https://proxy.test/v1'])('%s is a valid baseUrl', (baseUrl) => {
    expect(() => new OpenAIProvider({ apiKey, baseUrl })).not.toThrow();
  });
});

describe('Anthropic format', () => {
  const model = { model: 'claude-sonnet-4-5' };
  const start = {
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'c',
      content: [],
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  };
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

  test('an overload inside HTTP 200 is retryable, at the start of the stream or later', async () => {
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    const { url } = await replay({ body: named(overloaded) }, { body: named(start, block, overloaded) });
    const provider = new AnthropicProvider({ apiKey, baseUrl: `${url}/v1` });
    await expect(drain(provider, model)).rejects.toMatchObject({
      retryable: true,
      vendorMessage: expect.stringContaining('Overloaded'),
    });
    await expect(drain(provider, model)).rejects.toMatchObject({
      retryable: true,
      vendorMessage: expect.stringContaining('Overloaded'),
    });
  });

  test('usage is that of the last report in the stream', async () => {
    const { url } = await replay({
      body: named(
        start,
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 42 } },
        { type: 'message_stop' },
      ),
    });
    const chunks = await drain(new AnthropicProvider({ apiKey, baseUrl: `${url}/v1` }), model);
    expect(chunks.at(-1)).toEqual({
      finishReason: 'stop',
      usage: { promptTokens: 9, completionTokens: 42, totalTokens: 51 },
    });
  });

  test('thinking is sent back in its position, with its signature', async () => {
    const usage = { input_tokens: 9, output_tokens: 1 };
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'c', usage };
    const { url, requests } = await replay(
      {
        body: {
          ...message,
          stop_reason: 'tool_use',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig-1' },
            { type: 'text', text: 'So:' },
            { type: 'tool_use', id: 't1', name: 'double', input: { a: 2 } },
          ],
        },
      },
      { body: { ...message, stop_reason: 'end_turn', content: [{ type: 'text', text: '4' }] } },
    );
    const result = await agentOf(new AnthropicProvider({ apiKey, baseUrl: `${url}/v1` }), model.model).run('2?');
    expect(result).toMatchObject({ status: 'completed', output: '4' });
    expect(requests[1]?.body).toHaveProperty('messages.1', {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'sig-1' },
        { type: 'text', text: 'So:' },
        { type: 'tool_use', id: 't1', name: 'double', input: { a: 2 } },
      ],
    });
  });
});

describe('Gemini format', () => {
  const model = { model: 'gemini-2.5-flash' };
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 };
  const candidate = (parts: unknown[], finishReason = 'STOP', more = {}) => ({
    candidates: [{ content: { role: 'model', parts }, finishReason, ...more }],
    usageMetadata,
  });
  const providerAt = (url: string) => new GeminiProvider({ apiKey, baseUrl: `${url}/v1beta` });

  test.each(['chat', 'chatStream'] as const)(
    '%s: calls receive ids, and STOP with calls becomes tool_calls',
    async (method) => {
      const body = candidate([
        { functionCall: { name: 'double', args: { a: 1 } } },
        { functionCall: { name: 'double', args: { a: 2 } } },
      ]);
      const { url } = await replay({ body: method === 'chat' ? body : events(body) });
      const provider = providerAt(url);
      const answer = method === 'chat' ? await provider.chat(ask, model) : (await drain(provider, model)).at(-1);
      expect(answer?.finishReason).toBe('tool_calls');
      const ids = answer?.toolCalls?.map(({ id }) => id) ?? [];
      expect(new Set(ids).size).toBe(2);
      expect(ids.every(Boolean)).toBe(true);
    },
  );

  test.each(['run', 'stream'] as const)(
    '%s: thought signatures go back with their calls, through memory too',
    async (how) => {
      const bodies = [
        candidate([
          { functionCall: { name: 'double', args: { a: 1 } }, thoughtSignature: 'sig-1' },
          { functionCall: { name: 'double', args: { a: 2 } } },
        ]),
        candidate([{ text: 'done', thoughtSignature: 'sig-2' }]),
        candidate([{ text: 'again' }]),
      ];
      const { url, requests } = await replay(...bodies.map((body) => ({ body: how === 'run' ? body : events(body) })));
      const stored: string[] = [];
      const memory = {
        addMessage: async (_agent: string, _run: string, message: unknown) => {
          stored.push(JSON.stringify(message));
        },
        getMessages: async () => stored.map((text) => JSON.parse(text)),
        clear: async () => {},
      };
      const agent = createAgent({
        name: 'a',
        systemPrompt: '',
        provider: providerAt(url),
        model,
        tools: [double],
        memory,
      });
      for (const input of ['first', 'second']) {
        const { status } = how === 'run' ? await agent.run(input) : await agent.stream(input).result;
        expect(status).toBe('completed');
      }
      const body = requests[2]?.body;
      expect(body).toHaveProperty('contents.1.parts.0.thoughtSignature', 'sig-1');
      expect(body).not.toHaveProperty('contents.1.parts.1.thoughtSignature');
      expect(body).toHaveProperty('contents.3.parts', [{ text: 'done', thoughtSignature: 'sig-2' }]);
    },
  );

  test.each(['run', 'stream'] as const)('%s: the model is informed about a malformed call', async (how) => {
    const malformed = {
      candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'Malformed function call: double(a=' }],
      usageMetadata,
    };
    const fine = candidate([{ text: 'sorry' }]);
    const { url, requests } = await replay(
      ...[malformed, fine].map((body) => ({ body: how === 'run' ? body : events(body) })),
    );
    const agent = agentOf(providerAt(url), model.model);
    const result = how === 'run' ? await agent.run('x') : await agent.stream('x').result;
    expect(result).toMatchObject({ status: 'completed', output: 'sorry' });
    expect(JSON.stringify(requests[1]?.body)).toContain('Malformed function call: double(a=');
  });

  test.each(['chat', 'chatStream'] as const)(
    '%s: an answer that was withheld is a content-filter error',
    async (method) => {
      const bodies = [
        { candidates: [], usageMetadata },
        { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata },
        { candidates: [{ finishReason: 'PROHIBITED_CONTENT' }], usageMetadata },
      ];
      const { url } = await replay(...bodies.map((body) => ({ body: method === 'chat' ? body : events(body) })));
      const provider = providerAt(url);
      for (const _ of bodies) {
        const answer = method === 'chat' ? provider.chat(ask, model) : drain(provider, model);
        await expect(answer).rejects.toMatchObject({ code: 'ERR_CONTENT_FILTER', usage: { totalTokens: 8 } });
      }
    },
  );

  test('RetryInfo sets the retry delay', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' }];
    const error = { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', details };
    const { url } = await replay({ status: 429, body: { error } });
    await expect(providerAt(url).chat(ask, model)).rejects.toMatchObject({ retryable: true, retryAfterMs: 1500 });
  });

  test('MAX_TOKENS becomes length', async () => {
    const { url } = await replay({ body: candidate([{ text: 'half' }], 'MAX_TOKENS') });
    expect(await providerAt(url).chat(ask, model)).toMatchObject({ content: 'half', finishReason: 'length' });
  });
});
