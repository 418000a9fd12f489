import { LLMock } from '@copilotkit/aimock';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAgent } from '../create-agent.js';
import type { ModelOptions, ModelProvider } from '../model/model-provider.js';
import { fromLanguageModel, type LanguageModel } from './language-model.js';
import { double, type Vendor, vendors } from './vendors.fixture.js';
import { record, serve, type WireServer } from './wire.fixture.js';

const apiKey = 'sk-very-secret-0123456789';
const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 };
const settings = { topP: 0.5, stop: ['END'], seed: 7 };

type Expected = Record<string, { model?: string; options: Partial<ModelOptions>; body: object }>;

/** Settings and the fields of the request that they become. */
const requests: Record<string, Expected> = {
  OpenAIProvider: {
    sampling: { options: settings, body: { top_p: 0.5, stop: ['END'], seed: 7 } },
    effort: { model: 'o4-mini', options: { reasoning: 'low' }, body: { reasoning_effort: 'low' } },
    'a required tool': { options: { toolChoice: 'required' }, body: { tool_choice: 'required' } },
    'a named tool': {
      options: { toolChoice: { tool: 'double' } },
      body: { tool_choice: { type: 'function', function: { name: 'double' } } },
    },
    'no tool': { options: { toolChoice: 'none' }, body: { tool_choice: 'none' } },
    'package settings': {
      model: 'o4-mini',
      options: { reasoning: 'low', providerOptions: { openai: { reasoningEffort: 'high', user: 'u' } } },
      body: { reasoning_effort: 'high', user: 'u' },
    },
  },
  'OpenAIProvider, compatible': {
    sampling: { options: settings, body: { top_p: 0.5, stop: ['END'], seed: 7 } },
    effort: { options: { reasoning: 'high' }, body: { reasoning_effort: 'high' } },
    'a required tool': { options: { toolChoice: 'required' }, body: { tool_choice: 'required' } },
    'package settings': {
      options: { providerOptions: { openaiCompatible: { custom: 1 } } },
      body: { custom: 1 },
    },
  },
  'OpenAIProvider, responses': {
    sampling: { options: { topP: 0.5 }, body: { top_p: 0.5, store: false } },
    effort: {
      model: 'gpt-5',
      options: { reasoning: 'low' },
      body: { reasoning: { effort: 'low' }, store: false, include: ['reasoning.encrypted_content'] },
    },
    'a required tool': { options: { toolChoice: 'required' }, body: { tool_choice: 'required' } },
    'a named tool': {
      options: { toolChoice: { tool: 'double' } },
      body: { tool_choice: { type: 'function', name: 'double' } },
    },
    'package settings': {
      model: 'gpt-5',
      options: { reasoning: 'low', providerOptions: { openai: { reasoningSummary: 'auto', store: true } } },
      body: { reasoning: { effort: 'low', summary: 'auto' }, store: true },
    },
  },
  AnthropicProvider: {
    sampling: { options: { topP: 0.5, stop: ['END'] }, body: { top_p: 0.5, stop_sequences: ['END'] } },
    'a budget': {
      options: { reasoning: { budgetTokens: 2_000 }, maxTokens: 5_000 },
      body: { thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 5_000 },
    },
    'a budget above maxTokens': {
      options: { reasoning: { budgetTokens: 9_000 }, maxTokens: 2_000 },
      body: { thinking: { type: 'enabled', budget_tokens: 1_999 }, max_tokens: 2_000 },
    },
    'no room to think': {
      options: { reasoning: 'high', maxTokens: 500 },
      body: { thinking: { type: 'disabled' }, max_tokens: 500 },
    },
    'the budget of an effort': {
      options: { reasoning: 'medium' },
      body: { thinking: { type: 'enabled', budget_tokens: 8_192 } },
    },
    'effort of a newer model': {
      model: 'claude-opus-4-6',
      options: { reasoning: 'medium' },
      body: { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
    },
    'a required tool': { options: { toolChoice: 'required' }, body: { tool_choice: { type: 'any' } } },
    'a named tool': {
      options: { toolChoice: { tool: 'double' } },
      body: { tool_choice: { type: 'tool', name: 'double' } },
    },
    cache: {
      options: { cache: true },
      body: {
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'hello', cache_control: { type: 'ephemeral' } }] }],
      },
    },
  },
  GeminiProvider: {
    sampling: {
      options: settings,
      body: { generationConfig: { topP: 0.5, stopSequences: ['END'], seed: 7 } },
    },
    'the budget of an effort': {
      options: { reasoning: 'low' },
      body: { generationConfig: { thinkingConfig: { thinkingBudget: 1_024 } } },
    },
    'effort of a newer model': {
      model: 'gemini-3-pro-preview',
      options: { reasoning: 'high' },
      body: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
    },
    'a budget': {
      options: { reasoning: { budgetTokens: 300 } },
      body: { generationConfig: { thinkingConfig: { thinkingBudget: 300 } } },
    },
    'a named tool': {
      options: { toolChoice: { tool: 'double' } },
      body: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['double'] } } },
    },
    'package settings': {
      options: { providerOptions: { google: { thinkingConfig: { includeThoughts: true } } } },
      body: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
    },
  },
};

/** Recorded answer with a cache and reasoning: 12 prompt tokens, 6 of them cached, and 9 tokens, 4 of reasoning. */
interface Report {
  readonly body: object;
  /** The same answer as events of a stream. */
  readonly events: readonly object[];
  readonly cacheWriteTokens?: number;
}

const chatUsage = {
  prompt_tokens: 12,
  completion_tokens: 9,
  total_tokens: 21,
  prompt_tokens_details: { cached_tokens: 6 },
  completion_tokens_details: { reasoning_tokens: 4 },
};
const chatChunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
const chatReport: Report = {
  body: {
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: chatUsage,
  },
  events: [
    { ...chatChunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: null }] },
    { ...chatChunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...chatChunk, choices: [], usage: chatUsage },
  ],
};
const responsesUsage = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 6 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 21,
};
const saidItem = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' };
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed' };
const anthropicUsage = { input_tokens: 1, cache_read_input_tokens: 6, cache_creation_input_tokens: 5 };
const written = { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
const anthropicMessage = { id: 'm', type: 'message', role: 'assistant', model: 'c' };
const geminiBody = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: 12,
    cachedContentTokenCount: 6,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 4,
    totalTokenCount: 21,
  },
};
const reports: Record<string, Report> = {
  OpenAIProvider: chatReport,
  'OpenAIProvider, compatible': chatReport,
  'OpenAIProvider, responses': {
    body: {
      ...response,
      output: [{ ...saidItem, content: [{ type: 'output_text', text: 'hi', annotations: [] }] }],
      usage: responsesUsage,
    },
    events: [
      { type: 'response.created', response },
      { type: 'response.output_item.added', output_index: 0, item: saidItem },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'hi' },
      { type: 'response.output_item.done', output_index: 0, item: saidItem },
      { type: 'response.completed', response: { ...response, usage: responsesUsage } },
    ],
  },
  AnthropicProvider: {
    body: {
      ...anthropicMessage,
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { ...anthropicUsage, ...written },
    },
    events: [
      {
        type: 'message_start',
        message: { ...anthropicMessage, content: [], usage: { ...anthropicUsage, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { ...anthropicUsage, ...written } },
      { type: 'message_stop' },
    ],
    cacheWriteTokens: 5,
  },
  GeminiProvider: { body: geminiBody, events: [geminiBody] },
};

let mock: LLMock;
let wire: WireServer;

beforeEach(async () => {
  mock = await LLMock.create({ port: 0, strict: true });
  wire = await record(mock.url);
});

afterEach(async () => {
  await wire.close();
  await mock.stop();
});

const providerOf = (vendor: Vendor): Required<ModelProvider> =>
  vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });

describe.each(vendors)('$name', (vendor) => {
  test.each(['run', 'stream'] as const)('%s sends every setting in its form', async (how) => {
    mock.onMessage('hello', { content: 'Hi', usage });
    for (const { model = vendor.model, options, body } of Object.values(requests[vendor.name] ?? {})) {
      const agent = createAgent({
        name: 'a',
        systemPrompt: 'Be brief.',
        provider: providerOf(vendor),
        model: { model, ...options },
        tools: [double],
      });
      const { status, error } = how === 'run' ? await agent.run('hello') : await agent.stream('hello').result;
      expect({ status, error }).toEqual({ status: 'completed' });
      expect(wire.requests.at(-1)?.body).toMatchObject(body);
    }
  });

  test('a required tool is required once', async () => {
    mock.on({ userMessage: 'one', turnIndex: 0 }, { toolCalls: [{ name: 'double', arguments: { a: 1 } }], usage });
    mock.on({ userMessage: 'one', turnIndex: 1 }, { content: '2', usage });
    const model: ModelOptions = { model: vendor.model, toolChoice: 'required' };
    const agent = createAgent({ name: 'a', systemPrompt: '', provider: providerOf(vendor), model, tools: [double] });
    expect(await agent.run('one')).toMatchObject({ status: 'completed', output: '2' });
    const sent = wire.requests.map(({ body }) => /"ANY"|"any"|"required"[,}]/.test(JSON.stringify(body)));
    expect(sent).toEqual([true, false]);
  });
});

describe.each(Object.entries(reports))('%s', (name, { body, events, cacheWriteTokens = 0 }) => {
  test.each(['run', 'stream'] as const)('%s reports cached and reasoning tokens, and their cost', async (how) => {
    await wire.close();
    wire = await serve((response) => {
      response.writeHead(200, { 'content-type': how === 'run' ? 'application/json' : 'text/event-stream' });
      const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
      response.end(how === 'run' ? JSON.stringify(body) : stream);
    });
    const vendor = vendors.find((each) => each.name === name) ?? expect.fail();
    const onTokenUsage = vi.fn();
    const agent = createAgent({
      name: 'a',
      systemPrompt: '',
      provider: providerOf(vendor),
      model: { model: vendor.model, cache: true },
      prices: { [vendor.model]: { input: 1e6, output: 1e7, cachedInput: 1e5, cacheWrite: 2e6 } },
      onTokenUsage,
    });
    const expected = {
      promptTokens: 12,
      completionTokens: 9,
      totalTokens: 21,
      cachedTokens: 6,
      reasoningTokens: 4,
      ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
      cost: expect.closeTo(6 - cacheWriteTokens + 0.6 + 2 * cacheWriteTokens + 90),
    };
    const { tokenUsage } = how === 'run' ? await agent.run('hello') : await agent.stream('hello').result;
    expect(tokenUsage).toEqual(expected);
    expect(onTokenUsage).toHaveBeenCalledWith(expected);
  });
});

test('a setting that the vendor ignores is logged once per agent', async () => {
  const vendor = vendors.find(({ name }) => name === 'AnthropicProvider');
  if (vendor === undefined) throw new Error('no such vendor');
  mock.onMessage('hello', { content: 'Hi', usage });
  const warn = vi.fn();
  const logger = { debug: vi.fn(), info: vi.fn(), error: vi.fn(), warn };
  const model = { model: vendor.model, seed: 7 };
  const agent = createAgent({ name: 'a', systemPrompt: '', provider: providerOf(vendor), model, logger });
  await agent.run('hello');
  await agent.stream('hello').result;
  expect(warn.mock.calls).toEqual([
    [{ model: vendor.model }, 'the model of agent "a" does not support a setting: seed'],
  ]);
});

test.each<[string, Partial<ModelOptions>, string, string]>([
  [
    'a budget for a vendor with efforts',
    { reasoning: { budgetTokens: 5 } },
    'openai.chat',
    '"low", "medium" or "high"',
  ],
  ['reasoning for an unknown vendor', { reasoning: 'low' }, 'acme.chat', 'set in providerOptions'],
  ['cache for an unknown vendor', { cache: true }, 'acme.chat', 'set in providerOptions'],
])('%s is refused before the call', async (_, options, provider, expected) => {
  const unused = () => Promise.reject(new Error('unused'));
  const model: LanguageModel = {
    specificationVersion: 'v3',
    provider,
    modelId: 'm',
    doGenerate: unused,
    doStream: unused,
  };
  const failure = fromLanguageModel(model).chat([{ role: 'user', content: 'x' }], { model: 'm', ...options });
  await expect(failure).rejects.toThrow(expected);
});

test.each<[unknown, string]>([
  [{ topP: 2 }, 'model.topP of agent "a" must be from 0 to 1'],
  [{ stop: 'END' }, 'model.stop of agent "a" must be an array of non-empty strings'],
  [{ seed: 0.5 }, 'model.seed of agent "a" must be a whole number'],
  [{ reasoning: 'extreme' }, 'model.reasoning of agent "a" must be "low", "medium", "high" or { budgetTokens }'],
  [{ reasoning: { budget: 5 } }, 'option of model.reasoning of agent "a" must be one of budgetTokens'],
  [{ reasoning: {} }, 'model.reasoning.budgetTokens of agent "a" must be set'],
  [{ toolChoice: 'any' }, 'model.toolChoice of agent "a" must be "auto", "none", "required" or { tool }'],
  [
    { toolChoice: 'required', toolless: true },
    'model.toolChoice of agent "a" must be omitted if the agent has no tools',
  ],
  [{ cache: 'yes' }, 'model.cache of agent "a" must be true or false'],
  [{ providerOptions: { openai: true } }, 'model.providerOptions of agent "a" must be an object of objects'],
])('the model settings %j are refused', (given, expected) => {
  const { toolless, ...options } = given as { toolless?: boolean };
  const provider = { chat: () => Promise.reject(new Error('unused')) };
  const config = { name: 'a', systemPrompt: '', provider, model: { model: 'm', ...options } };
  expect(() => createAgent({ ...config, tools: toolless ? [] : [double] })).toThrow(expected);
});
