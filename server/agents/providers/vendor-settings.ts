import type { LanguageModelV3CallOptions, LanguageModelV3Prompt, SharedV3ProviderOptions } from '@ai-sdk/provider';
import { InvalidOptionError } from '../../errors.js';
import type { JsonSchema } from '../../json-schema.js';
import { describeFormat, type ModelOptions, type ReasoningEffort } from '../model/model-provider.js';

type Reasoning = NonNullable<ModelOptions['reasoning']>;

/** Settings whose form depends on the vendor. */
export interface VendorSettings {
  /** Maximum number of tokens of the answer without those that `providerOptions` add to it. */
  readonly maxTokens: number | undefined;
  readonly providerOptions: SharedV3ProviderOptions | undefined;
}

/**
 * Returns the settings in the vendor's form.
 *
 * @param defaults further settings of the packages, which those of the user override
 * @throws {InvalidOptionError} if the vendor does not offer a setting
 */
export function toVendorSettings(
  { reasoning, maxTokens, providerOptions }: ModelOptions,
  provider: string,
  modelId: string,
  defaults: SharedV3ProviderOptions = {},
): VendorSettings {
  // The user's values become JSON in the request, which is all that the type demands.
  const given = providerOptions as SharedV3ProviderOptions | undefined;
  if (reasoning === undefined) return { maxTokens, providerOptions: merge(defaults, given) };
  const { key, settings, maxTokens: withoutReasoning } = toReasoning(reasoning, maxTokens, provider, modelId);
  return {
    maxTokens: withoutReasoning,
    providerOptions: merge(defaults, { [key]: settings }, given),
  };
}

function merge(...sources: readonly (SharedV3ProviderOptions | undefined)[]): SharedV3ProviderOptions | undefined {
  const merged: SharedV3ProviderOptions = {};
  for (const source of sources) {
    for (const [key, settings] of Object.entries(source ?? {})) merged[key] = { ...merged[key], ...settings };
  }
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Vendor's form of a reasoning setting. */
interface ReasoningSettings {
  /** Name of the vendor's package in `providerOptions`. */
  readonly key: string;
  readonly settings: SharedV3ProviderOptions[string];
  readonly maxTokens: number | undefined;
}

function toReasoning(
  reasoning: Reasoning,
  maxTokens: number | undefined,
  provider: string,
  modelId: string,
): ReasoningSettings {
  if (provider.includes('anthropic')) return toThinking(reasoning, maxTokens, modelId);
  if (/^google\b/.test(provider)) {
    const isLevel = typeof reasoning === 'string' && /gemini-([3-9]|\d\d)/.test(modelId);
    const thinkingConfig = isLevel ? { thinkingLevel: reasoning } : { thinkingBudget: budgetOf(reasoning) };
    return { key: 'google', settings: { thinkingConfig }, maxTokens };
  }
  const key = effortKeys.find(([prefix]) => provider.startsWith(prefix))?.[1];
  if (key === undefined) {
    throw new InvalidOptionError('reasoning', `set in providerOptions for models of ${provider}`, reasoning);
  }
  if (typeof reasoning !== 'string') {
    throw new InvalidOptionError('reasoning', `"low", "medium" or "high" for models of ${provider}`, reasoning);
  }
  return { key, settings: { reasoningEffort: reasoning }, maxTokens };
}

/** Vendors whose models take an effort, and the names of their packages in `providerOptions`. */
const effortKeys: readonly (readonly [prefix: string, key: string])[] = [
  ['openai-compatible', 'openaiCompatible'],
  ['openai', 'openai'],
  ['azure', 'openai'],
  ['groq', 'groq'],
  ['xai', 'xai'],
];

/**
 * Tokens of an effort for models that only take a number: Google's values for its own OpenAI-compatible API.
 *
 * @see https://ai.google.dev/gemini-api/docs/openai#thinking
 */
const budgets: Record<ReasoningEffort, number> = { low: 1_024, medium: 8_192, high: 24_576 };

function budgetOf(reasoning: Reasoning): number {
  return typeof reasoning === 'string' ? budgets[reasoning] : reasoning.budgetTokens;
}

/** Anthropic's minimum. */
const minThinkingTokens = 1_024;

/** Models up to 4.5 think within a number of tokens; later ones choose it themselves, and take an effort. */
const takesBudget = /claude-(3|instant|2|(opus|sonnet|haiku)-4-?([0-5]\b|20\d{6}|$))/;

const rejectsBudget = /claude-(\w+-5-5|fable-5)/;

function toThinking(reasoning: Reasoning, maxTokens: number | undefined, modelId: string): ReasoningSettings {
  const key = 'anthropic';
  if (typeof reasoning === 'string' && !takesBudget.test(modelId)) {
    return { key, settings: { thinking: { type: 'adaptive' }, effort: reasoning }, maxTokens };
  }
  if (rejectsBudget.test(modelId)) {
    throw new InvalidOptionError('reasoning', `"low", "medium" or "high" for ${modelId}`, reasoning);
  }
  // The package adds the budget to the tokens of the answer, and `maxTokens` covers both.
  const budgetTokens = Math.min(budgetOf(reasoning), (maxTokens ?? Number.POSITIVE_INFINITY) - 1);
  if (budgetTokens < minThinkingTokens && maxTokens !== undefined) {
    return { key, settings: { thinking: { type: 'disabled' } }, maxTokens };
  }
  return {
    key,
    settings: { thinking: { type: 'enabled', budgetTokens } },
    maxTokens: maxTokens === undefined ? undefined : maxTokens - budgetTokens,
  };
}

/** Vendors that cache prompts without a request. */
const cachesAlways = /^(openai|azure|google|xai|groq|deepseek)/;

/**
 * Marks the ends of the system prompt and of the whole prompt for Anthropic's cache: other conversations share the
 * first, and the next turn shares the second.
 *
 * @throws {InvalidOptionError} if it is unknown how the vendor caches
 */
export function markCacheable(prompt: LanguageModelV3Prompt, provider: string): void {
  if (provider.includes('anthropic')) {
    for (const message of [prompt.findLast(({ role }) => role === 'system'), prompt.at(-1)]) {
      if (message !== undefined) message.providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    }
  } else if (!cachesAlways.test(provider)) {
    throw new InvalidOptionError('cache', `set in providerOptions for models of ${provider}`, true);
  }
}

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
