import { LLMock } from '@copilotkit/aimock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.js';
import type { ModelOptions } from '../model/model-provider.js';
import { fromLanguageModel, type LanguageModel } from './language-model.js';
import { double, type Vendor, vendors } from './vendors.fixture.js';
import { record, serve, type WireServer } from './wire.fixture.js';

const apiKey = 'sk-very-secret-0123456789';
const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 };
const outputSchema = z.object({ sum: z.number(), words: z.array(z.string()) });
const schema = {
  type: 'object',
  properties: { sum: { type: 'number' }, words: { type: 'array', items: { type: 'string' } } },
  required: ['sum', 'words'],
  additionalProperties: false,
};
const answer = { sum: 2, words: ['two'] };
const described = expect.stringContaining(JSON.stringify(schema));

/** Case of a vendor: fields of a request with a tool, and of one without. */
interface Case {
  readonly model?: string;
  readonly options?: Partial<ModelOptions>;
  readonly withTools: object;
  readonly withoutTools: object;
  /** `true` if the vendor's package makes the model call a tool with the answer. */
  readonly isTool?: boolean;
}

const openAiFormat = { response_format: { type: 'json_schema', json_schema: { schema, strict: true } } };
const responsesFormat = { text: { format: { type: 'json_schema', schema, strict: true } } };
const anthropicFormat = { output_config: { format: { type: 'json_schema', schema } } };
const geminiFormat = { generationConfig: { responseMimeType: 'application/json', responseSchema: { type: 'object' } } };
const inSystem = { messages: [{ role: 'system', content: described }, {}] };

const cases: Record<string, Record<string, Case>> = {
  OpenAIProvider: { 'in strict mode': { withTools: openAiFormat, withoutTools: openAiFormat } },
  'OpenAIProvider, responses': { 'in strict mode': { withTools: responsesFormat, withoutTools: responsesFormat } },
  'OpenAIProvider, compatible': {
    'with the schema in the prompt': {
      withTools: inSystem,
      withoutTools: { ...inSystem, response_format: { type: 'json_object' } },
    },
  },
  AnthropicProvider: {
    natively: { withTools: anthropicFormat, withoutTools: anthropicFormat },
    'with a tool for older models': {
      model: 'claude-3-5-haiku-latest',
      withTools: { tools: [{ name: 'double' }, { name: 'json' }], tool_choice: { type: 'any' } },
      withoutTools: { tools: [{ name: 'json' }], tool_choice: { type: 'any' } },
      isTool: true,
    },
    'in the prompt of older models that think': {
      model: 'claude-sonnet-4-20250514',
      options: { reasoning: 'low' },
      withTools: { system: [{ text: described }], thinking: { type: 'enabled' } },
      withoutTools: { system: [{ text: described }], thinking: { type: 'enabled' } },
    },
  },
  GeminiProvider: {
    'without tools only': {
      withTools: { systemInstruction: { parts: [{ text: described }] } },
      withoutTools: geminiFormat,
    },
    'with tools for newer models': {
      model: 'gemini-3-pro-preview',
      withTools: geminiFormat,
      withoutTools: geminiFormat,
    },
  },
};

describe.each(vendors)('$name', (vendor) => {
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

  test.each(Object.entries(cases[vendor.name] ?? {}))('requests JSON %s', async (_, example) => {
    const { model = vendor.model, options = {}, isTool = false } = example;
    const content = JSON.stringify(answer);
    const text = isTool ? { toolCalls: [{ name: 'json', arguments: answer }], usage } : { content, usage };
    mock.onMessage('hello', text);
    const provider = vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });
    const config = { name: 'a', provider, model: { model, ...options }, outputSchema };
    for (const tools of [[double], []]) {
      for (const systemPrompt of ['Be brief.', '']) {
        const agent = createAgent({ ...config, systemPrompt, tools });
        const result = tools.length > 0 ? await agent.run('hello') : await agent.stream('hello').result;
        expect(result.error).toBeUndefined();
        expect(result).toMatchObject({ status: 'completed', data: answer, output: content });
        const body = tools.length > 0 ? example.withTools : example.withoutTools;
        expect(wire.requests.at(-1)?.body).toMatchObject(body);
      }
    }
  });

  test('corrects an answer', async () => {
    mock.on({ userMessage: 'hello', turnIndex: 0 }, { content: '{"sum":"two"}', usage });
    mock.on({ userMessage: /Answer again/, turnIndex: 1 }, { content: JSON.stringify(answer), usage });
    const provider = vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });
    const model = { model: vendor.model };
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model, outputSchema });
    expect(await agent.run('hello')).toMatchObject({ status: 'completed', data: answer });
    expect(wire.requests).toHaveLength(2);
  });
});

test.each<[string, z.ZodType, boolean]>([
  ['an optional field', z.object({ a: z.number().optional() }), false],
  ['a default', z.object({ a: z.number().default(1) }), false],
  ['a map', z.object({ a: z.record(z.string(), z.number()) }), false],
  ['a length', z.object({ a: z.string().max(5) }), false],
  ['an optional field of an entry', z.object({ a: z.array(z.object({ b: z.string().optional() })) }), false],
  ['a nullable field', z.object({ a: z.number().nullable() }), true],
  ['a union', z.union([z.object({ a: z.literal(1) }), z.object({ b: z.string() })]), true],
])('OpenAI is asked for strict JSON only if its strict mode accepts the schema: %s', async (_, schema, strict) => {
  const body = {
    choices: [{ index: 0, message: { role: 'assistant', content: '{}' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  const wire = await serve((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  const vendor: Vendor | undefined = vendors.find(({ name }) => name === 'OpenAIProvider');
  const provider = vendor?.create({ apiKey, baseUrl: `${wire.url}/v1` }) ?? expect.fail();
  const config = { name: 'a', systemPrompt: '', provider, model: { model: 'gpt-4o' }, outputRetries: 0 };
  await createAgent({ ...config, outputSchema: schema }).run('hello');
  expect(wire.requests[0]?.body).toMatchObject({ response_format: { json_schema: { strict } } });
  await wire.close();
});

test('a model of another vendor receives the format, and the schema in its prompt', async () => {
  const requests: unknown[] = [];
  const model: LanguageModel = {
    specificationVersion: 'v3',
    provider: 'acme.chat',
    modelId: 'm',
    doGenerate: async (options: never) => {
      requests.push(options);
      return {
        content: [{ type: 'text', text: JSON.stringify(answer) }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
        warnings: [{ type: 'unsupported', feature: 'responseFormat' }],
      };
    },
    doStream: () => Promise.reject(new Error('unused')),
  };
  const lines: unknown[] = [];
  const log = (...line: unknown[]): void => void lines.push(line);
  const logger = { debug: log, info: log, warn: log, error: log };
  const config = { name: 'a', systemPrompt: '', model: { model: 'm' }, outputSchema, logger };
  const { data } = await createAgent({ ...config, provider: fromLanguageModel(model) }).run('hello');
  expect(data).toEqual(answer);
  expect(requests).toMatchObject([
    { responseFormat: { type: 'json', schema }, prompt: [{ role: 'system', content: described }, { role: 'user' }] },
  ]);
  // The prompt replaces what the package does not support.
  expect(lines).toEqual([]);
});
