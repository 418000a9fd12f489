import type { LanguageModelV3CallOptions, LanguageModelV3Prompt, SharedV3ProviderOptions } from '@ai-sdk/provider';
import type { JsonSchema } from '../../../json-schema/json-schema.js';
import type { ModelOptions } from '../../model/model-provider.js';
import { describeFormat } from '../../output/describe-format.js';

/** Form in which a vendor receives the format of the answer. */
export interface JsonMode {
  readonly responseFormat?: Required<LanguageModelV3CallOptions>['responseFormat'];
  /** Text for the prompt, if the vendor's JSON mode does not enforce the schema, or does not work in this call. */
  readonly instruction?: string;
  readonly settings?: SharedV3ProviderOptions;
}

/** Returns the form of `responseFormat` for a vendor, or `undefined` if the answer is a text. */
export function toJsonMode(options: ModelOptions, provider: string, modelId: string): JsonMode | undefined {
  const { responseFormat, tools = [], reasoning } = options;
  if (responseFormat === undefined) return undefined;
  const { schema } = responseFormat;
  // Plain JSON, which the types of the AI SDK describe in detail.
  const native = { type: 'json', schema } as JsonMode['responseFormat'] & object;
  const instruction = describeFormat(responseFormat);
  if (/^(openai|azure)\b(?!-)/.test(provider)) {
    return { responseFormat: native, settings: { openai: { strictJsonSchema: isStrict(schema) } } };
  }
  if (provider.includes('anthropic')) {
    // The package makes older models call a tool, which Anthropic refuses while they think.
    return usesJsonTool.test(modelId) && reasoning !== undefined ? { instruction } : { responseFormat: native };
  }
  if (/^google\b/.test(provider)) {
    return tools.length > 0 && excludesTools.test(modelId) ? { instruction } : { responseFormat: native };
  }
  // Compatible servers and other vendors: some enforce no schema, some refuse a JSON mode together with tools.
  return tools.length > 0 ? { instruction } : { responseFormat: native, instruction };
}

const usesJsonTool = /claude-(3|2|instant|(opus|sonnet|haiku)-4-?([01]\b|20\d{6}|$))/;

/** Gemini refuses its JSON mode together with tools up to version 2.5. */
const excludesTools = /gemini-(1|2)/;

/** Adds an instruction to the system prompt. */
export function addInstruction(prompt: LanguageModelV3Prompt, instruction: string): void {
  const [first] = prompt;
  if (first?.role === 'system') first.content += `\n\n${instruction}`;
  else prompt.unshift({ role: 'system', content: instruction });
}

/** Keywords of OpenAI's strict mode, which refuses a schema with others. */
const strictKeywords: readonly string[] = [
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$ref', '$defs'],
  ...['title', 'description', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minItems', 'maxItems'],
];

/**
 * Returns `true` if OpenAI accepts the schema in its strict mode: every property is required, and no object is open.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
function isStrict(schema: JsonSchema): boolean {
  const { properties = {}, required = [], items, anyOf = [], $defs = {} } = schema;
  if (!Object.keys(schema).every((keyword) => strictKeywords.includes(keyword))) return false;
  const isClosed = !('properties' in schema) || schema['additionalProperties'] === false;
  const names = Object.keys(Object(properties));
  const areRequired = Array.isArray(required) && names.every((name) => required.includes(name));
  const isMap = schema['type'] === 'object' && !('properties' in schema);
  const inner = [
    ...Object.values(Object(properties)),
    items,
    ...Object.values(Object(anyOf)),
    ...Object.values(Object($defs)),
  ];
  return isClosed && areRequired && !isMap && inner.every((each) => each === undefined || isStrict(Object(each)));
}
