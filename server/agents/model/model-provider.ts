import { InvalidOptionError } from '../../errors.js';
import type { JsonSchema } from '../../json-schema.js';
import { OptionChecker } from '../../options.js';
import { isRecord } from './foreign-values.js';
import type { Message, ToolCall, ToolDefinition } from './message.js';
import { isMedia } from './part.js';
import { UnsupportedPartError } from './provider-error.js';
import type { TokenUsage } from './token-usage.js';
import type { Source, VendorCall } from './vendor-parts.js';

/** Reason why a model stopped. `length`: it reached the token limit, so the end of its answer may be missing. */
export type FinishReason = 'stop' | 'tool_calls' | 'length';

/** Format of an answer: JSON that matches a JSON Schema whose root is an object. */
export interface ResponseFormat {
  readonly type: 'json';
  readonly schema: JsonSchema;
}

/** Tools that a vendor runs itself. The agent does not execute their calls. */
export const vendorToolNames: readonly VendorToolName[] = ['webSearch', 'codeExecution'];

/** Name of a tool that a vendor runs itself. */
export type VendorToolName = 'webSearch' | 'codeExecution';

/** Effort of a model's reasoning. */
export type ReasoningEffort = 'low' | 'medium' | 'high';

/** Model to call, and its settings. */
export interface ModelOptions {
  /** Vendor's name of the model. */
  model: string;
  /** Sampling temperature. @default the vendor's */
  temperature?: number;
  /** Probability mass of the tokens that the model chooses from, from 0 to 1. @default the vendor's */
  topP?: number;
  /** Maximum number of tokens per answer, reasoning included. @default the vendor's */
  maxTokens?: number;
  /** Texts that end the answer. The answer does not contain them. @default none */
  stop?: readonly string[];
  /** Seed of the sampling, a whole number. A vendor without seeds ignores it. @default none */
  seed?: number;
  /**
   * Effort of the model's reasoning, or its maximum number of tokens. Only for models that reason. OpenAI has efforts
   * only. @default the vendor's
   */
  reasoning?: ReasoningEffort | { readonly budgetTokens: number };
  /**
   * Tools that the model must, may or must not call. In an agent's run `'required'` and `{ tool }` apply until the model
   * has called a tool: otherwise no run would end. @default 'auto'
   */
  toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  /**
   * Requests that the vendor caches the prompt, if it does so only on request (Anthropic). Other vendors cache without
   * one. @default false
   */
  cache?: boolean;
  /**
   * Further settings of the AI SDK's vendor packages, by package: `{ openai: { serviceTier: 'flex' } }`. They override
   * the settings above. A provider of your own receives them unchanged. @default none
   */
  providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /**
   * Tools that the model is offered. In the `model` of an agent they stand beside the agent's own tools, and nothing
   * executes them: a call of one is answered like that of an unknown tool. @default none
   */
  tools?: ToolDefinition[];
  /**
   * Tools that the vendor runs itself: `{ webSearch: true }`, or with the settings that the AI SDK's package of the vendor
   * takes, such as `{ webSearch: { maxUses: 3 } }` of Anthropic. Their calls and sources are part of the answer. For
   * Anthropic, Gemini and OpenAI's Responses; another vendor's call is refused. @default none
   */
  vendorTools?: { readonly [Name in VendorToolName]?: boolean | Readonly<Record<string, unknown>> };
  /** Format of the answer. An agent sets this from its `outputSchema`. @default text */
  responseFormat?: ResponseFormat;
  /** Milliseconds until a model call fails with {@link ModelTimeoutError}. Enforced by the agent. @default 600_000 */
  timeoutMs?: number;
  /** Aborts the call. An agent sets this from the signal of its run. */
  signal?: AbortSignal;
}

/** One answer of a model. */
export interface ModelResponse {
  content: string;
  toolCalls?: ToolCall[];
  /** All zero if the provider reports none: a run then estimates it. */
  usage: TokenUsage;
  finishReason: FinishReason;
  /** Problem of a tool call that the vendor could not read. The run passes it to the model. */
  unreadableCall?: string;
  /** Stored on the assistant message, see {@link Message.providerMetadata}. */
  providerMetadata?: Record<string, unknown>;
  /** Settings of the call that the model does not support. The agent logs each of them once. */
  ignoredSettings?: readonly string[];
  /** Sources that the vendor found or cites. */
  sources?: readonly Source[];
  /** Calls of the vendor's own tools, which it has run. */
  vendorCalls?: readonly VendorCall[];
}

/**
 * Part of a streamed answer. Texts, tool calls and sources are concatenated; of a vendor's call, the last state counts;
 * for every other field the last value counts.
 */
export interface ModelStreamChunk {
  content?: string;
  /** Text of the model's reasoning, for readers of a stream. What the vendor expects back is in `providerMetadata`. */
  reasoning?: string;
  /** Complete calls, each in one chunk only. */
  toolCalls?: ToolCall[];
  usage?: TokenUsage;
  /** Present on one chunk. A stream that ends without it is an error. */
  finishReason?: FinishReason;
  unreadableCall?: string;
  providerMetadata?: Record<string, unknown>;
  ignoredSettings?: readonly string[];
  sources?: readonly Source[];
  /** Calls that begin, and calls with their results. */
  vendorCalls?: readonly VendorCall[];
}

/** Client of a model vendor: a provider class such as `OpenAIProvider`, `fromLanguageModel`, or your own object. */
export interface ModelProvider {
  /** Vendor's name in traces and metrics: `openai`, `anthropic`, `gcp.gemini` ... @default 'unknown' */
  readonly name?: string;
  /**
   * `true` if `chat` reads `responseFormat` of the options. Otherwise an agent with an `outputSchema` describes the
   * schema in its system prompt. @default false
   */
  readonly jsonMode?: boolean;
  /**
   * `true` if `chat` reads the `parts` of messages. Otherwise a call whose user messages have images, audio or files is
   * refused with `UnsupportedPartError`. @default false
   */
  readonly readsParts?: boolean;
  /**
   * Requests one complete answer. The agent's `retry` decides whether a rejected call is retried; the `retryable`
   * of a `ProviderError` can rule that out.
   *
   * @param messages the run's own list, which grows during the run: copy it before you change or keep it
   * @param options its `signal` aborts the call
   */
  chat(messages: Message[], options: ModelOptions): Promise<ModelResponse>;
  /** Requests a streamed answer. Used by `agent.stream`; without it the answer arrives as one chunk. */
  chatStream?(messages: Message[], options: ModelOptions): AsyncIterable<ModelStreamChunk>;
}

/** Refuses messages with media for a provider that would leave them out. @throws {UnsupportedPartError} */
export function checkReadsParts({ readsParts, name = 'the model provider' }: ModelProvider, messages: Message[]): void {
  if (readsParts === true) return;
  for (const { role, parts } of messages) {
    // The content of a tool's result names its media.
    const media = role === 'tool' ? undefined : parts?.find(isMedia);
    if (media !== undefined) {
      throw new UnsupportedPartError(name, media, 'set readsParts of the provider if its chat reads parts of messages');
    }
  }
}

const names: readonly (keyof ModelOptions)[] = [
  'model',
  'temperature',
  'topP',
  'maxTokens',
  'stop',
  'seed',
  'reasoning',
  'toolChoice',
  'cache',
  'timeoutMs',
  'providerOptions',
  'responseFormat',
  'tools',
  'vendorTools',
  'signal',
];

/**
 * Refuses options that no model reads: a misspelt `max_tokens` must not be ignored.
 *
 * @throws {InvalidOptionError}
 */
export function checkModelOptionNames(options: ModelOptions, owner = 'the model call'): void {
  const known: readonly string[] = names;
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new InvalidOptionError(`option of ${owner}`, `one of ${names.join(', ')}`, unknown);
  }
}

/**
 * Checks the settings of an agent's model.
 *
 * @param owner name of the agent in messages
 * @param hasTools `true` if the agent has tools or agents to delegate to
 * @throws {InvalidOptionError}
 */
export function checkModelOptions(model: ModelOptions, owner: string, hasTools: boolean): void {
  if (typeof model !== 'object' || model === null) {
    throw new InvalidOptionError(`model of ${owner}`, 'an object such as { model: "..." }', model, 'type');
  }
  checkModelOptionNames(model, `model of ${owner}`);
  const check = new OptionChecker(model, names, owner, 'model');
  const { model: id, temperature, topP, maxTokens, timeoutMs, stop, seed, cache } = model;
  const { responseFormat, tools, signal } = model;
  check.that(typeof id === 'string' && id !== '', 'model', 'a non-empty string', id);
  check.that(temperature === undefined || Number.isFinite(temperature), 'temperature', 'a number', temperature);
  check.that(topP === undefined || (typeof topP === 'number' && topP >= 0 && topP <= 1), 'topP', 'from 0 to 1', topP);
  check.count('maxTokens', maxTokens);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.that(stop === undefined || isTexts(stop), 'stop', 'an array of non-empty strings', stop);
  check.count('seed', seed, { min: Number.MIN_SAFE_INTEGER });
  check.boolean('cache', cache);
  checkReasoning(model.reasoning, check, owner);
  checkToolChoice(model.toolChoice, check, owner, hasTools);
  checkProviderOptions(model.providerOptions, check);
  checkVendorTools(model.vendorTools, check, owner);
  const isText = responseFormat === undefined;
  check.that(isText, 'responseFormat', 'omitted: pass outputSchema of the agent', responseFormat);
  check.that(tools === undefined || Array.isArray(tools), 'tools', 'an array', tools);
  check.that(signal === undefined, 'signal', 'omitted: pass the signal as run(input, { signal })', signal);
}

const efforts: readonly unknown[] = ['low', 'medium', 'high'];

function checkReasoning(reasoning: ModelOptions['reasoning'], check: OptionChecker, owner: string): void {
  if (typeof reasoning === 'object' && reasoning !== null) {
    const budget = new OptionChecker(reasoning, ['budgetTokens'], owner, 'model.reasoning');
    budget.required('budgetTokens', reasoning.budgetTokens);
    budget.count('budgetTokens', reasoning.budgetTokens);
    return;
  }
  const isEffort = reasoning === undefined || efforts.includes(reasoning);
  check.that(isEffort, 'reasoning', '"low", "medium", "high" or { budgetTokens }', reasoning);
}

const choices: readonly unknown[] = ['auto', 'none', 'required'];

function checkToolChoice(
  toolChoice: ModelOptions['toolChoice'],
  check: OptionChecker,
  owner: string,
  hasTools: boolean,
): void {
  if (toolChoice === undefined) return;
  if (typeof toolChoice === 'object' && toolChoice !== null) {
    const tool = new OptionChecker(toolChoice, ['tool'], owner, 'model.toolChoice');
    const isName = typeof toolChoice.tool === 'string' && toolChoice.tool !== '';
    tool.that(isName, 'tool', 'the name of a tool', toolChoice.tool);
  } else {
    check.that(choices.includes(toolChoice), 'toolChoice', '"auto", "none", "required" or { tool }', toolChoice);
  }
  check.that(hasTools, 'toolChoice', 'omitted if the agent has no tools', toolChoice);
}

function checkProviderOptions(providerOptions: ModelOptions['providerOptions'], check: OptionChecker): void {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
  const isValid =
    providerOptions === undefined || (isObject(providerOptions) && Object.values(providerOptions).every(isObject));
  check.that(isValid, 'providerOptions', 'an object of objects, such as { openai: { ... } }', providerOptions);
}

function checkVendorTools(vendorTools: ModelOptions['vendorTools'], check: OptionChecker, owner: string): void {
  if (vendorTools === undefined) return;
  const isSet = (value: unknown): boolean =>
    value === undefined || typeof value === 'boolean' || (typeof value === 'object' && value !== null);
  check.that(isRecord(vendorTools), 'vendorTools', 'an object such as { webSearch: true }', vendorTools);
  const tools = new OptionChecker(vendorTools, vendorToolNames, owner, 'model.vendorTools');
  for (const [name, value] of Object.entries(vendorTools)) {
    tools.that(isSet(value), name, "true, or the vendor's settings", value);
  }
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string' && text !== '');
}

/** Returns the part of a prompt that describes the format to a model without a JSON mode. */
export function describeFormat({ schema }: ResponseFormat): string {
  return `Answer with JSON only, without Markdown, that matches this JSON Schema:\n${JSON.stringify(schema)}`;
}
