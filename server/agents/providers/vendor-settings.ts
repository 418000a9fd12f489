import type { LanguageModelV3CallOptions, LanguageModelV3Prompt, SharedV3ProviderOptions } from '@ai-sdk/provider';
import { InvalidOptionError } from '../../errors.js';
import type { JsonSchema } from '../../json-schema.js';
import { describeFormat, type ModelOptions, type ReasoningEffort } from '../model/model-provider.js';
import {
  anthropicForm,
  anthropicNames,
  describeUnsaid,
  geminiForm,
  hasFewOptionals,
  isStrictSchema,
  toInlineSchema,
  toPlainSchema,
  type WireSchema,
} from './wire-schema.js';

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
  const known = isResponses.test(provider) ? [unstored, defaults] : [defaults];
  const forms = reasoning === undefined ? undefined : toReasoning(reasoning, maxTokens, provider, modelId);
  const merged = merge(...known, forms && { [forms.key]: forms.settings }, given);
  return {
    maxTokens: forms === undefined ? maxTokens : forms.maxTokens,
    providerOptions: provider.startsWith('azure') ? mergeAzure(merged) : merged,
  };
}

/** OpenAI's Responses, on its own hosts and on Azure. */
export const isResponses: RegExp = /^(openai|azure)\.responses$/;

/**
 * A run does not depend on what the vendor keeps, and for how long: its reasoning comes encrypted, and is part of the
 * transcript.
 */
const unstored: SharedV3ProviderOptions = { openai: { store: false } };

/** Returns `true` if the vendor keeps the answers, so that a message may refer to them. */
export function isStored(providerOptions: SharedV3ProviderOptions | undefined): boolean {
  return providerOptions?.['openai']?.['store'] !== false;
}

/** One API of Azure reads the settings as `azure`, and the other one as `openai`. */
function mergeAzure(options: SharedV3ProviderOptions | undefined): SharedV3ProviderOptions | undefined {
  if (options === undefined) return undefined;
  const both = { ...options['openai'], ...options['azure'] };
  return { ...options, openai: both, azure: both };
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
  // The name of a deployment on Azure does not say that its model reasons.
  const force = provider.startsWith('azure') && { forceReasoning: true };
  return { key, settings: { reasoningEffort: reasoning, ...force }, maxTokens };
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
  const plain = toPlainSchema(schema, 'answer');
  const instruction = describeFormat(responseFormat);
  if (isOpenAI.test(provider)) {
    const isStrict = isStrictSchema(schema);
    return { ...nativeMode(isStrict ? asIs(schema) : plain), settings: { openai: { strictJsonSchema: isStrict } } };
  }
  if (provider.includes('anthropic')) {
    // The package makes older models call a tool, which Anthropic refuses while they think.
    if (usesJsonTool.test(modelId)) {
      const tool = toPlainSchema(schema, 'answer', anthropicNames);
      return reasoning === undefined ? nativeMode(tool) : { instruction };
    }
    const inline = toInlineSchema(schema, 'answer', anthropicForm);
    return inline.isNarrower || !hasFewOptionals(inline.schema) ? { instruction } : nativeMode(inline);
  }
  if (isGoogle.test(provider)) {
    if (tools.length > 0 && excludesTools.test(modelId)) return { instruction };
    const inline = toInlineSchema(schema, 'answer', geminiForm);
    return inline.isNarrower ? { responseFormat: { type: 'json' }, instruction } : nativeMode(inline);
  }
  // Compatible servers and other vendors: some enforce no schema, some refuse a JSON mode together with tools.
  return tools.length > 0 ? { instruction } : { ...nativeMode(plain), instruction };
}

const isOpenAI = /^(openai|azure)\b(?!-)/;
const isGoogle = /^google\b/;

function asIs(schema: JsonSchema): WireSchema {
  return { schema, unsaid: [], isNarrower: false };
}

/** Returns the vendor's JSON mode, with what the form of its schema cannot say as an instruction. */
function nativeMode(wire: WireSchema): JsonMode {
  const instruction = describeUnsaid(wire, 'answer');
  // Plain JSON, which the types of the AI SDK describe in detail.
  const responseFormat = { type: 'json', schema: wire.schema } as NonNullable<JsonMode['responseFormat']>;
  return { responseFormat, ...(instruction !== undefined && { instruction }) };
}

/** Returns `true` if the vendor's package adds a tool named `json` for the answer. */
export function addsJsonTool({ responseFormat, reasoning }: ModelOptions, provider: string, modelId: string): boolean {
  const isTool = provider.includes('anthropic') && usesJsonTool.test(modelId);
  return isTool && responseFormat !== undefined && reasoning === undefined;
}

// Definitions of tools are the same in each turn.
const toolSchemas = new WeakMap<JsonSchema, Map<WireForm, WireSchema>>();

type WireForm = 'plain' | 'anthropic' | 'gemini';

/** Returns the parameters of a tool in the vendor's form. */
export function toToolSchema(parameters: JsonSchema, provider: string): WireSchema {
  const form = isGoogle.test(provider) ? 'gemini' : provider.includes('anthropic') ? 'anthropic' : 'plain';
  const known = toolSchemas.get(parameters) ?? new Map<WireForm, WireSchema>();
  toolSchemas.set(parameters, known);
  let wire = known.get(form);
  if (wire === undefined) {
    const plain = toPlainSchema(parameters, 'arguments', form === 'anthropic' ? anthropicNames : undefined);
    const inline = form === 'gemini' ? toInlineSchema(plain.schema, 'arguments', geminiForm) : undefined;
    wire = inline === undefined ? plain : { ...inline, unsaid: [...plain.unsaid, ...inline.unsaid] };
    known.set(form, wire);
  }
  return wire;
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
