import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { compileJsonSchema, type JsonSchema } from '../../json-schema.js';
import { createAgent } from '../create-agent.js';
import { isRecord, recordOf } from '../model/foreign-values.js';
import type { ModelOptions } from '../model/model-provider.js';
import { toSendableSchema } from '../model/output-schema.js';
import { mapSubschemas } from '../model/subschemas.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { type Vendor, vendors } from './vendors.fixture.js';
import { record, serve, type WireServer } from './wire.fixture.js';
import { rows } from './wire-schemas.fixture.js';

let wire: WireServer;

beforeAll(async () => {
  wire = await serve((response) => void response.writeHead(400).end('{}'));
});

afterAll(() => wire.close());

/** Returns the body of the request that a vendor's package sends. */
async function bodyOf(vendor: Vendor, options: Partial<ModelOptions>): Promise<Readonly<Record<string, unknown>>> {
  const provider = vendor.create({ apiKey: 'k', baseUrl: `${wire.url}${vendor.basePath}` });
  const before = wire.requests.length;
  const call = provider.chat([{ role: 'user', content: 'x' }], { model: vendor.model, ...options });
  await expect(call).rejects.toMatchObject({ statusCode: 400 });
  expect(wire.requests).toHaveLength(before + 1);
  return recordOf(wire.requests.at(-1)?.body);
}

const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, key) => (Array.isArray(inner) ? inner[Number(key)] : recordOf(inner)[key]), value);

/** Calls a function with a schema and those inside it. */
function visit(schema: JsonSchema, check: (part: JsonSchema) => void): void {
  check(schema);
  mapSubschemas(schema, (inner) => {
    visit(inner, check);
    return inner;
  });
}

const typesOf = ({ type }: JsonSchema): unknown[] => [type].flat();
const isName = /^[A-Za-z_][\w-]{0,63}$/;
const atRoot = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', '$ref', 'if'];

/** Rules of OpenAI's and Anthropic's tools. */
function checkTool(schema: JsonSchema, isAnthropic: boolean): void {
  expect(schema['type']).toBe('object');
  expect(Object.keys(schema).filter((keyword) => atRoot.includes(keyword))).toEqual([]);
  expect(schema).not.toHaveProperty('$schema');
  // Draft 2020-12, with references that resolve.
  compileJsonSchema(schema, 'a tool', 'arguments');
  visit(schema, (part) => {
    if (typesOf(part).includes('array')) expect(part).toHaveProperty('items');
    if (isAnthropic)
      for (const name of Object.keys(recordOf(part['properties']))) expect(name).toMatch(/^[\w.-]{1,64}$/);
  });
}

const strict = [
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$ref', '$defs'],
  ...['title', 'description', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minItems', 'maxItems', 'pattern', 'format'],
];

/** @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
function checkStrict(schema: JsonSchema): void {
  expect(schema).toMatchObject({ type: 'object' });
  expect(schema).not.toHaveProperty('anyOf');
  visit(schema, (part) => {
    expect(strict).toEqual(expect.arrayContaining(Object.keys(part)));
    if ('$ref' in part) {
      expect(Object.keys(part)).toEqual(['$ref']);
      return;
    }
    expect('type' in part || 'anyOf' in part).toBe(true);
    if (typesOf(part).includes('object')) {
      expect(part['additionalProperties']).toBe(false);
      expect([...((part['required'] as string[]) ?? [])].sort()).toEqual(
        Object.keys(recordOf(part['properties'])).sort(),
      );
    }
    if (typesOf(part).includes('array')) expect(part['items']).toBeTypeOf('object');
  });
  const depthOf = (part: unknown): number =>
    isRecord(part)
      ? Math.max(
          0,
          ...Object.values(recordOf(part['properties'])).map((each) => 1 + depthOf(each)),
          depthOf(part['items']),
        )
      : 0;
  expect(depthOf(schema)).toBeLessThanOrEqual(10);
}

const anthropicAnswers = [
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', 'description'],
  ...['title', 'default', 'format', 'minItems'],
];

/** @see https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations */
function checkAnthropicAnswer(schema: JsonSchema): void {
  let optional = 0;
  visit(schema, (part) => {
    expect(anthropicAnswers).toEqual(expect.arrayContaining(Object.keys(part)));
    expect('type' in part || 'anyOf' in part).toBe(true);
    if (part['type'] === 'object') {
      expect(part['additionalProperties']).toBe(false);
      optional += Object.keys(recordOf(part['properties'])).length - ((part['required'] as unknown[]) ?? []).length;
    }
    if (part['type'] === 'array') expect(part['items']).toBeTypeOf('object');
    for (const value of (part['enum'] as unknown[]) ?? []) expect(typeof value).not.toBe('object');
  });
  expect(optional).toBeLessThanOrEqual(24);
}

const geminiFields = [
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'maxItems', 'minItems', 'properties', 'required'],
  ...['minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern', 'example', 'anyOf', 'propertyOrdering'],
  ...['default', 'items', 'minimum', 'maximum'],
];

/** @see https://ai.google.dev/api/caching#Schema */
function checkGemini(schema: JsonSchema, isAnswer: boolean): void {
  visit(schema, (part) => {
    expect(geminiFields).toEqual(expect.arrayContaining(Object.keys(part)));
    if ('anyOf' in part) {
      expect(Object.keys(part)).toEqual(['anyOf']);
      return;
    }
    expect(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']).toContain(part['type']);
    if ('items' in part) expect(part['type']).toBe('array');
    if (part['type'] === 'array') expect(part['items']).toBeTypeOf('object');
    if ('enum' in part) {
      expect(part['type']).toBe('string');
      for (const value of part['enum'] as unknown[]) expect(value).toMatch(/./);
    }
    const formats = part['type'] === 'string' ? ['date-time', 'enum'] : ['float', 'double', 'int32', 'int64'];
    if ('format' in part) expect(formats).toContain(part['format']);
    const names = Object.keys(recordOf(part['properties']));
    for (const name of (part['required'] as string[]) ?? []) expect(names).toContain(name);
    // It answers `{}` to an object without properties.
    if (isAnswer && part['type'] === 'object' && part !== schema) expect(names).not.toEqual([]);
  });
}

const mentioned = [
  ...['minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties', 'format', 'default', 'examples', 'contains', 'not', 'propertyNames'],
  ...['patternProperties', 'if', 'then', 'description'],
];

/** Returns the texts of a request, with JSON inside texts as it is read. */
function textOf(body: unknown): string {
  const raw = JSON.stringify(body);
  return `${raw}\n${raw.replaceAll('\\\\', '\\').replaceAll('\\"', '"')}\n${raw.replaceAll(/\\+/g, '')}`;
}

/** Checks that each name, value and limit of a schema is somewhere in the request. */
function checkSaysAll(schema: JsonSchema, body: unknown): void {
  const text = textOf(body);
  const missing: string[] = [];
  const say = (what: string, ...forms: readonly string[]): void => {
    if (!forms.some((form) => text.includes(form))) missing.push(what);
  };
  visit(schema, (part) => {
    for (const name of Object.keys(recordOf(part['properties']))) say(`property ${name}`, `"${name}"`, `.${name}: `);
    const values = [...((part['enum'] as unknown[]) ?? []), ...('const' in part ? [part['const']] : [])];
    for (const value of values) say(`value ${JSON.stringify(value)}`, JSON.stringify(value), '"nullable":true');
    for (const keyword of mentioned.filter((each) => each in part)) {
      const value = part[keyword];
      const spaced = keyword.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
      const words = typeof value === 'string' ? value.replaceAll('\\', '') : JSON.stringify(value);
      say(
        `${keyword} ${words}`,
        `"${keyword}":${JSON.stringify(value)}`,
        `${spaced}: ${words}`,
        ...(typeof value === 'string' ? [words] : []),
      );
    }
  });
  expect(missing).toEqual([]);
}

/** Checks that a form does not exclude a valid value. */
function checkAccepts(schema: unknown, sample: unknown): void {
  expect(compileJsonSchema(nullableToUnion(recordOf(schema)), 'the form', 'value')(sample)).toEqual([]);
}

/** Converts `nullable` of OpenAPI, which also applies to an `enum` without null. */
function nullableToUnion(schema: JsonSchema): JsonSchema {
  const { nullable, ...rest } = mapSubschemas(schema, nullableToUnion);
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest;
}

describe.each(vendors)('$name', (vendor) => {
  const isAnthropic = vendor.name === 'AnthropicProvider';
  const isGemini = vendor.name === 'GeminiProvider';
  const isResponses = vendor.name === 'OpenAIProvider, responses';

  test.each(rows)('accepts a tool with %s', async (_, parameters, sample) => {
    const names = ['work', '2fa_check', '_2fa_check', 'json', '-x'];
    const tools = names.map((name) => ({ name, description: 'Works', parameters }));
    const body = await bodyOf(vendor, { tools });
    const sent = isGemini ? at(body, 'tools', 0, 'functionDeclarations') : at(body, 'tools');
    const isFlat = isGemini || isAnthropic || isResponses;
    const definitions = (sent as unknown[]).map((each) => (isFlat ? each : at(each, 'function')));
    const sentNames = definitions.map((each) => String(at(each, 'name')));
    expect(new Set(sentNames).size).toBe(names.length);
    for (const name of sentNames) expect(name).toMatch(isName);
    expect(JSON.stringify(body)).not.toContain('parametersJsonSchema');
    const schema = at(definitions[0], isGemini ? 'parameters' : isAnthropic ? 'input_schema' : 'parameters');
    if (schema !== undefined) {
      if (isGemini) checkGemini(recordOf(schema), false);
      else checkTool(recordOf(schema), isAnthropic);
      checkAccepts(schema, sample);
      // A tool of this API is strict unless it says no.
      if (isResponses) {
        expect(at(definitions[0], 'strict')).toBeTypeOf('boolean');
        if (at(definitions[0], 'strict') === true) checkStrict(recordOf(schema));
      }
    }
    checkSaysAll(parameters, definitions[0]);
  });

  test.each(rows)('accepts an answer with %s', async (_, schema, sample) => {
    const { sent, isWrapped } = toSendableSchema(schema);
    const body = await bodyOf(vendor, { responseFormat: { type: 'json', schema: sent } });
    const format = isResponses ? at(body, 'text', 'format') : at(body, 'response_format', 'json_schema');
    const isStrict = at(format, 'strict') === true;
    const form = isGemini
      ? at(body, 'generationConfig', 'responseSchema')
      : isAnthropic
        ? at(body, 'output_config', 'format', 'schema')
        : at(format, 'schema');
    if (form !== undefined) {
      if (isGemini) checkGemini(recordOf(form), true);
      else if (isAnthropic) checkAnthropicAnswer(recordOf(form));
      else if (isStrict) checkStrict(recordOf(form));
      else checkTool(recordOf(form), false);
      checkAccepts(form, isWrapped ? { value: sample } : sample);
    }
    expect(at(body, 'tools')).toBeUndefined();
    checkSaysAll(sent, body);
  });

  test('a tool is called by its own name, whatever the vendor calls it', async () => {
    const mock = await LLMock.create({ port: 0, strict: true });
    const proxy = await record(mock.url);
    onTestFinished(async () => {
      await proxy.close();
      await mock.stop();
    });
    const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 };
    mock.on({ userMessage: 'x', turnIndex: 0 }, { toolCalls: [{ name: '_2fa_check', arguments: { a: 1 } }], usage });
    mock.on({ userMessage: 'x', turnIndex: 1 }, { content: 'done', usage });
    const check = { name: '2fa_check', description: '', parameters: {}, execute: async (input: unknown) => input };
    const agent = createAgent({
      name: 'a',
      systemPrompt: '',
      provider: vendor.create({ apiKey: 'k', baseUrl: `${proxy.url}${vendor.basePath}` }),
      model: { model: vendor.model, toolChoice: { tool: '2fa_check' } },
      tools: [check],
    });
    const { output, toolCalls, error } = await agent.run('x');
    expect({ output, toolCalls, error }).toMatchObject({
      output: 'done',
      toolCalls: [{ name: '2fa_check', result: { a: 1 } }],
    });
    expect(proxy.requests).toHaveLength(2);
    // In the definition, the choice, the call and its result.
    for (const { body } of proxy.requests) expect(JSON.stringify(body)).not.toContain('"2fa_check"');
  });
});

test('a tool named json does not collide with the tool of Anthropic’s package', async () => {
  const vendor = vendors.find(({ name }) => name === 'AnthropicProvider') ?? expect.fail();
  const tools = [{ name: 'json', description: 'Own', parameters: {} }];
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  const model = 'claude-3-5-haiku-latest';
  const body = await bodyOf(vendor, { model, tools, responseFormat: { type: 'json', schema } });
  expect(body).toMatchObject({
    tools: [
      { name: 'json_2', description: 'Own' },
      { name: 'json', input_schema: schema },
    ],
  });
});

test.each(['string', 'array', ['string', 'null']])('parameters of the type %j are refused', (type) => {
  const tool = { name: 't', description: '', parameters: { type }, execute: async () => 1 };
  expect(() => new ToolRegistry().register(tool)).toThrow('parameters.type of tool "t" must be "object"');
});
