import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3GenerateResult } from '@ai-sdk/provider';
import { describe, expect, expectTypeOf, test, vi } from 'vitest';
import { OrphanToolMessageError } from '../errors.js';
import type { Message } from '../model/message.js';
import { ProviderError } from '../model/provider-error.js';
import { fromLanguageModel, type LanguageModel } from './language-model.js';
import { toPrompt } from './language-model-call.js';
import { retryAfterMsOf, toProviderError } from './to-provider-error.js';

const user = (content: string): Message => ({ role: 'user', content });
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: `tool-${id}`, arguments: `{"id":"${id}"}` })),
});
const result = (toolCallId: string): Message => ({ role: 'tool', toolCallId, content: `of ${toolCallId}` });

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};

function modelOf(answer: Partial<LanguageModelV3GenerateResult>): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'test.chat',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: vi.fn(async (_options: LanguageModelV3CallOptions) => ({
      content: [],
      finishReason: { unified: 'stop' as const, raw: 'stop' },
      usage,
      warnings: [],
      ...answer,
    })),
    doStream: () => Promise.reject(new Error('unused')),
  };
}

describe('fromLanguageModel', () => {
  test.each(['v3', 'v4'] as const)('accepts a model of specification %s', async (specificationVersion) => {
    const model = { ...modelOf({ content: [{ type: 'text', text: 'hi' }] }), specificationVersion };
    expect(await fromLanguageModel(model).chat([user('x')], { model: 'any' })).toEqual({
      content: 'hi',
      usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 },
      finishReason: 'stop',
    });
    expectTypeOf<LanguageModelV3>().toExtend<LanguageModel>();
  });

  test('accepts a function that returns the model with a given id', async () => {
    const make = vi.fn((_id: string) => modelOf({ content: [{ type: 'text', text: 'hi' }] }));
    await fromLanguageModel(make).chat([user('x')], { model: 'large' });
    expect(make).toHaveBeenCalledWith('large');
  });

  test.each([[{}], [{ specificationVersion: 'v2' }], [undefined]])('refuses %j', (model) => {
    // Wrong on purpose: the compiler rejects it.
    expect(() => fromLanguageModel(model as LanguageModel)).toThrow(
      'must be an AI SDK language model of specification',
    );
  });

  test('calls that the vendor executed are not executed by the run', async () => {
    const provider = fromLanguageModel(
      modelOf({
        content: [
          { type: 'tool-call', toolCallId: '1', toolName: 'search', input: '{}', providerExecuted: true },
          { type: 'text', text: 'found' },
        ],
      }),
    );
    expect((await provider.chat([user('x')], { model: 'm' })).toolCalls).toBeUndefined();
  });

  test('the v4 finish reason of an interrupted stream is an error', async () => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue({ type: 'finish', finishReason: { unified: 'interrupted', raw: undefined }, usage });
        controller.close();
      },
    });
    const model = { ...modelOf({}), specificationVersion: 'v4' as const, doStream: async () => ({ stream }) };
    const read = async (): Promise<void> => {
      for await (const _ of fromLanguageModel(model).chatStream([user('x')], { model: 'm' }));
    };
    await expect(read()).rejects.toMatchObject({ code: 'ERR_CUT_STREAM' });
  });

  test('an answer that the vendor ends with an error is a retryable error', async () => {
    const model = modelOf({ finishReason: { unified: 'error', raw: 'engine_fault' } });
    const failure = fromLanguageModel(model).chat([user('x')], { model: 'm' });
    await expect(failure).rejects.toMatchObject({ retryable: true, message: expect.stringContaining('engine_fault') });
  });

  test('a failed call rejects with a ProviderError that names the provider', async () => {
    const model = { ...modelOf({}), doGenerate: () => Promise.reject(new Error('boom')) };
    const failure = fromLanguageModel(model).chat([user('x')], { model: 'm' });
    await expect(failure).rejects.toBeInstanceOf(ProviderError);
    await expect(failure).rejects.toMatchObject({
      provider: 'test.chat',
      retryable: false,
      vendorMessage: expect.stringContaining('boom'),
    });
  });
});

test('a key is removed from an error message, also at the point where a long message is truncated', () => {
  for (let before = 900; before < 1100; before++) {
    const failure = new Error(`${'x'.repeat(before)}sk-very-secret`);
    const { vendorMessage = '' } = toProviderError(failure, 'p', ['sk-very-secret']);
    expect(vendorMessage).not.toContain('sk-');
    expect(vendorMessage.length).toBeLessThanOrEqual(1024);
  }
});

describe('a call without a response', () => {
  test.each([
    [true, 'ECONNRESET'],
    [true, 'ETIMEDOUT'],
    [true, 'ENOTFOUND'],
    [true, 'EAI_AGAIN'],
    [true, 'UND_ERR_SOCKET'],
    [true, 'UND_ERR_HEADERS_TIMEOUT'],
    [false, 'UND_ERR_INVALID_ARG'],
    [false, 'ERR_INVALID_URL'],
    [false, 'ERR_INVALID_ARG_TYPE'],
    [false, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [false, 'CERT_HAS_EXPIRED'],
    [false, 'ENOENT'],
  ])('is retryable: %s, for %s', (retryable, code) => {
    const cause = Object.assign(new Error('no'), { code });
    // Vendor packages wrap it like this, and mark all of these as retryable.
    const thrown = Object.assign(new Error('Cannot connect to API'), { cause, isRetryable: true });
    expect(toProviderError(thrown, 'p', [])).toMatchObject({ retryable, cause });
  });

  test('is retryable if its package says so and there is no code', () => {
    const thrown = Object.assign(new Error('fetch failed'), { isRetryable: true });
    expect(toProviderError(thrown, 'p', [])).toMatchObject({ retryable: true });
  });
});

describe('the prompt', () => {
  test('contains all results of one turn in one message, named after their calls', () => {
    expect(toPrompt([user('x'), calls('a', 'b'), result('a'), result('b')], 'p')).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'x' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 'tool-a', input: { id: 'a' } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'tool-b', input: { id: 'b' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'tool-a', output: { type: 'text', value: 'of a' } },
          { type: 'tool-result', toolCallId: 'b', toolName: 'tool-b', output: { type: 'text', value: 'of b' } },
        ],
      },
    ]);
  });

  test('merges adjacent messages of one role, and drops empty texts', () => {
    const empty: Message = { role: 'assistant', content: ' \n' };
    const says: Message = { role: 'assistant', content: 'y' };
    expect(toPrompt([{ role: 'system', content: '' }, user('a'), empty, user('b'), says, says], 'p')).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'a\n\nb' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'y' },
          { type: 'text', text: 'y' },
        ],
      },
    ]);
  });

  test.each([
    ['functions.search', 'functions_search'],
    ['', '_'],
    ['n'.repeat(70), 'n'.repeat(64)],
  ])('sends an invented tool name (%j) in a form that vendors accept', (name, toolName) => {
    const message: Message = { role: 'assistant', content: '', toolCalls: [{ id: 'a', name, arguments: '' }] };
    expect(toPrompt([message, result('a')], 'p')).toMatchObject([
      { content: [{ toolName }] },
      { content: [{ toolName }] },
    ]);
  });

  test.each(['{"a":', '7', '[]', '', 'null'])(
    'sends arguments that are not an object (%j) as an empty object',
    (text) => {
      const message: Message = { role: 'assistant', content: '', toolCalls: [{ id: '1', name: 't', arguments: text }] };
      expect(toPrompt([message], 'p')).toMatchObject([{ content: [{ input: {} }] }]);
    },
  );

  test('sends metadata back only to the provider that it came from', () => {
    const metadata = { p: { signature: 's' } };
    const message: Message = {
      ...calls('a'),
      content: 'text',
      providerMetadata: {
        p: [
          { type: 'reasoning', text: 'hm', metadata },
          { type: 'call', index: 0 },
        ],
      },
    };
    expect(toPrompt([message], 'p')).toMatchObject([
      { content: [{ type: 'reasoning', text: 'hm', providerOptions: metadata }, { type: 'tool-call' }] },
    ]);
    expect(toPrompt([message], 'q')).toMatchObject([
      { content: [{ type: 'text', text: 'text' }, { type: 'tool-call' }] },
    ]);
    const broken = { ...message, providerMetadata: { p: [{ type: 'nonsense' }] } };
    expect(toPrompt([broken], 'p')).toMatchObject([
      { content: [{ type: 'text', text: 'text' }, { type: 'tool-call' }] },
    ]);
  });

  test('refuses a result without its call', () => {
    expect(() => toPrompt([user('x'), result('a')], 'p')).toThrow(OrphanToolMessageError);
  });
});

describe('retryAfterMsOf', () => {
  const now = Date.UTC(2026, 0, 1);

  test.each<[Record<string, string>, unknown, number | undefined]>([
    [{ 'retry-after-ms': '1500.5' }, undefined, 1500.5],
    [{ 'retry-after': '2' }, undefined, 2000],
    [{ 'retry-after': '0' }, undefined, 0],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, undefined, 30_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, undefined, 0],
    [{ 'retry-after-ms': '5', 'retry-after': '2' }, undefined, 5],
    [{ 'retry-after': 'soon' }, undefined, undefined],
    [{}, [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37s' }], 37_000],
    [{}, [null, { '@type': 'other', retryDelay: '37s' }], undefined],
    [{}, [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: 'soon' }], undefined],
    [{}, undefined, undefined],
  ])('%j %j is %j', (headers, details, expected) => {
    expect(retryAfterMsOf(headers, { details }, now)).toBe(expected);
  });
});

describe('a key in a vendor’s message', () => {
  const failing = (message: string): LanguageModelV3 => ({
    ...modelOf({}),
    doGenerate: () => Promise.reject(new Error(message)),
  });

  test.each([
    'sk-proj-abcdefgh12345678',
    'AIzaSyA1234567890abcdefghij',
    'Bearer eyJhbGciOi.abc_def-ghi',
    'gsk_abcdefgh12345678',
  ])('is removed: %s', async (key) => {
    const failure = fromLanguageModel(failing(`Incorrect API key provided: ${key}.`)).chat([user('x')], { model: 'm' });
    await expect(failure).rejects.toMatchObject({ vendorMessage: expect.not.stringContaining(key) });
    await expect(failure).rejects.toMatchObject({ vendorMessage: expect.stringContaining('[apiKey]') });
  });

  test('is removed if it is one of the secrets, whatever its form', async () => {
    const provider = fromLanguageModel(failing('key hunter2 is wrong'), { secrets: ['hunter2'] });
    await expect(provider.chat([user('x')], { model: 'm' })).rejects.toMatchObject({
      vendorMessage: 'key [apiKey] is wrong',
    });
  });

  test('secrets are validated without being shown', () => {
    const options = { secrets: 'hunter2' as unknown as string[] };
    expect(() => fromLanguageModel(modelOf({}), options)).toThrow(
      'must be an array of non-empty strings, got "string"',
    );
  });
});

test('an unknown option of a call is refused', async () => {
  const options = { model: 'm', max_tokens: 5 };
  const failure = fromLanguageModel(modelOf({})).chat([user('x')], options);
  await expect(failure).rejects.toThrow('option of the model call must be one of model, temperature,');
});

test('streamed parts keep the order in which they start', async () => {
  const google = (thoughtSignature: string) => ({ google: { thoughtSignature } });
  const finish = { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'STOP' }, usage };
  const parts = [
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'first a thought' },
    { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '{}', providerMetadata: google('s') },
    { type: 'text-start', id: '1' },
    { type: 'reasoning-end', id: '0' },
    { type: 'text-delta', id: '1', delta: 'then text' },
    { type: 'text-end', id: '1' },
    finish,
  ];
  const stream = new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  // Typed loosely: only the fields that matter here are given.
  const model = { ...modelOf({}), doStream: async () => ({ stream }) } as unknown as LanguageModelV3;
  const chunks = [];
  for await (const chunk of fromLanguageModel(model).chatStream([user('x')], { model: 'm' })) chunks.push(chunk);
  expect(chunks.at(-1)?.providerMetadata).toMatchObject({
    'test.chat': [
      { type: 'reasoning', text: 'first a thought' },
      { type: 'call' },
      { type: 'text', text: 'then text' },
    ],
  });
});
