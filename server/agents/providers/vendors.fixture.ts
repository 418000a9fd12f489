import { expect } from 'vitest';
import type { ModelProvider } from '../model/model-provider.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider, type VendorProviderOptions } from './vendor-providers.js';

/** Properties of a vendor that its tests need. */
export interface Vendor {
  readonly name: string;
  readonly model: string;
  readonly basePath: string;
  create(options: Required<VendorProviderOptions>): Required<ModelProvider>;
  /** Header that carries the key. */
  readonly keyHeader: readonly [string, (key: string) => string];
  /** Body of the request for: system prompt, one question, one tool, temperature 0.3, 50 tokens. */
  readonly firstBody: (question: string, stream: boolean) => unknown;
  /** Messages after the system prompt in the request that follows two parallel calls and their results. */
  readonly secondMessages: (question: string, ids: readonly string[]) => unknown;
  /** Fields about tools in a request that offers none, if the conversation contains a call of `double`. */
  readonly pastTools: (stream: boolean) => object;
  readonly maxTokensOf: (body: unknown) => unknown;
  /** `maxTokens` of each request in a run of two turns whose budget is twice the model's output limit. */
  readonly maxTokensSent: (limit: number) => readonly unknown[];
  /** Returns the messages of a request, starting at the question. */
  readonly messagesOf: (body: unknown) => unknown;
}

const parameters = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };

/** Tool of the vendors' tests. */
export const double = {
  name: 'double',
  description: 'Doubles a number',
  parameters,
  execute: async (input: unknown): Promise<{ is: number }> => ({ is: (input as { a: number }).a * 2 }),
};

const results = ['{"is":2}', '{"is":4}'];

const openAi = {
  basePath: '/v1',
  pastTools: () => ({}),
  keyHeader: ['authorization', (key: string) => `Bearer ${key}`],
  firstBodyOf: (model: string, question: string, stream: boolean) => ({
    model,
    max_tokens: 50,
    temperature: 0.3,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: question },
    ],
    tools: [{ type: 'function', function: { name: 'double', description: 'Doubles a number', parameters } }],
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  }),
  secondMessages: (question: string, ids: readonly string[]) => [
    { role: 'user', content: question },
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: ids.map((id, index) => {
        return { id, type: 'function', function: { name: 'double', arguments: `{"a":${index + 1}}` } };
      }),
    },
    ...ids.map((id, index) => ({ role: 'tool', tool_call_id: id, content: results[index] })),
  ],
  maxTokensOf: (body: unknown) => (body as { max_tokens?: unknown }).max_tokens,
  maxTokensSent: (limit: number) => [2 * limit, undefined, undefined],
  messagesOf: (body: unknown) => (body as { messages: unknown[] }).messages.slice(1),
} as const;

export const vendors: readonly Vendor[] = [
  {
    ...openAi,
    name: 'OpenAIProvider',
    model: 'gpt-4o',
    create: (options) => new OpenAIProvider({ ...options, dialect: 'openai' }),
    firstBody: (question, stream) => openAi.firstBodyOf('gpt-4o', question, stream),
  },
  {
    ...openAi,
    name: 'OpenAIProvider, compatible',
    model: 'llama',
    create: (options) => new OpenAIProvider(options),
    firstBody: (question, stream) => openAi.firstBodyOf('llama', question, stream),
  },
  {
    name: 'OpenAIProvider, responses',
    model: 'gpt-4o',
    basePath: '/v1',
    create: (options) => new OpenAIProvider({ ...options, api: 'responses' }),
    keyHeader: openAi.keyHeader,
    firstBody: (question, stream) => ({
      model: 'gpt-4o',
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'input_text', text: question }] },
      ],
      store: false,
      max_output_tokens: 50,
      temperature: 0.3,
      tools: [{ type: 'function', name: 'double', description: 'Doubles a number', parameters, strict: false }],
      ...(stream && { stream: true }),
    }),
    secondMessages: (question, ids) => [
      { role: 'user', content: [{ type: 'input_text', text: question }] },
      { role: 'assistant', id: expect.any(String), content: [{ type: 'output_text', text: 'Let me see.' }] },
      ...ids.map((call_id, index) => {
        return { type: 'function_call', call_id, name: 'double', arguments: `{"a":${index + 1}}` };
      }),
      ...ids.map((call_id, index) => ({ type: 'function_call_output', call_id, output: results[index] })),
    ],
    pastTools: openAi.pastTools,
    maxTokensOf: (body) => (body as { max_output_tokens?: unknown }).max_output_tokens,
    maxTokensSent: (limit) => [2 * limit, limit, limit],
    messagesOf: (body) => (body as { input: unknown[] }).input.slice(1),
  },
  {
    name: 'AnthropicProvider',
    model: 'claude-sonnet-4-5',
    basePath: '/v1',
    create: (options) => new AnthropicProvider(options),
    keyHeader: ['x-api-key', (key) => key],
    firstBody: (question, stream) => ({
      model: 'claude-sonnet-4-5',
      max_tokens: 50,
      temperature: 0.3,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: question }] }],
      tools: [
        {
          name: 'double',
          description: 'Doubles a number',
          input_schema: parameters,
          ...(stream && { eager_input_streaming: true }),
        },
      ],
      ...(stream && { stream: true }),
    }),
    secondMessages: (question, ids) => [
      { role: 'user', content: [{ type: 'text', text: question }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          ...ids.map((id, index) => ({ type: 'tool_use', id, name: 'double', input: { a: index + 1 } })),
        ],
      },
      {
        role: 'user',
        content: ids.map((id, index) => ({ type: 'tool_result', tool_use_id: id, content: results[index] })),
      },
    ],
    pastTools: (stream) => ({
      tools: [
        {
          name: 'double',
          description: 'Not available in this turn',
          input_schema: { type: 'object' },
          ...(stream && { eager_input_streaming: true }),
        },
      ],
      tool_choice: { type: 'none' },
    }),
    maxTokensOf: openAi.maxTokensOf,
    // Its package knows the models' output limits and applies them.
    maxTokensSent: (limit) => [limit, limit],
    messagesOf: (body) => (body as { messages: unknown }).messages,
  },
  {
    name: 'GeminiProvider',
    model: 'gemini-2.5-flash',
    basePath: '/v1beta',
    create: (options) => new GeminiProvider(options),
    keyHeader: ['x-goog-api-key', (key) => key],
    firstBody: (question) => ({
      generationConfig: { maxOutputTokens: 50, temperature: 0.3 },
      contents: [{ role: 'user', parts: [{ text: question }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [{ functionDeclarations: [{ name: 'double', description: 'Doubles a number', parameters }] }],
    }),
    secondMessages: (question, ids) => [
      { role: 'user', parts: [{ text: question }] },
      {
        role: 'model',
        parts: [
          { text: 'Let me see.' },
          ...ids.map((id, index) => ({ functionCall: { id, name: 'double', args: { a: index + 1 } } })),
        ],
      },
      {
        role: 'user',
        parts: ids.map((id, index) => ({
          functionResponse: { id, name: 'double', response: { name: 'double', content: results[index] } },
        })),
      },
    ],
    pastTools: () => ({}),
    maxTokensOf: (body) =>
      (body as { generationConfig: { maxOutputTokens?: unknown } }).generationConfig.maxOutputTokens,
    maxTokensSent: (limit) => [2 * limit, limit, limit],
    messagesOf: (body) => (body as { contents: unknown }).contents,
  },
];
