import type { LanguageModelV3, LanguageModelV3StreamPart, SharedV3Warning } from '@ai-sdk/provider';
import { InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Message } from '../model/message.js';
import {
  checkModelOptionNames,
  type ModelOptions,
  type ModelProvider,
  type ModelResponse,
  type ModelStreamChunk,
} from '../model/model-provider.js';
import { CutStreamError } from '../model/provider-error.js';
import { noUsage } from '../model/token-usage.js';
import type { VendorCall } from '../model/vendor-parts.js';
import { AnswerBuilder, type Finish, StreamAssembler } from './answer-builder.js';
import type { ModelCall } from './language-model-call.js';
import { toMediaError } from './prompt-media.js';
import { toProviderError } from './to-provider-error.js';
import { toSource, toVendorCall, withVendorResult } from './vendor-tools.js';

/** AI SDK language model of specification v3 or v4, as created by the AI SDK's vendor packages. */
export interface LanguageModel {
  readonly specificationVersion: 'v3' | 'v4';
  /** Package's name of the vendor, such as `mistral.chat`. Part of error messages. */
  readonly provider: string;
  readonly modelId: string;
  /** Requests a complete answer. The AI SDK defines its type. */
  doGenerate(options: never): PromiseLike<unknown>;
  /** Requests a streamed answer. The AI SDK defines its type. */
  doStream(options: never): PromiseLike<unknown>;
}

/**
 * Returns a model provider for any AI SDK language model: Azure, Bedrock, Mistral, Ollama ...
 *
 * @param model a model, which is then used for every `ModelOptions.model`, or a function that returns the model with a
 * given id, such as the result of `createAzure({ ... })`
 *
 * @example
 * const agent = createAgent({ name, systemPrompt, provider: fromLanguageModel(mistral('mistral-large')), model });
 *
 * @throws {InvalidOptionError}
 */
export function fromLanguageModel(
  model: LanguageModel | ((modelId: string) => LanguageModel),
  options: LanguageModelProviderOptions = {},
): Required<ModelProvider> {
  const owner = 'model of fromLanguageModel';
  const check = new OptionChecker(options, ['secrets'], 'fromLanguageModel');
  const { secrets = [] } = options;
  const isList = Array.isArray(secrets) && secrets.every((secret) => typeof secret === 'string' && secret !== '');
  // The value is not shown: it may be a secret.
  check.that(isList, 'secrets', 'an array of non-empty strings', typeof secrets);
  if (typeof model === 'function') {
    return languageModelProvider('unknown', async (id) => assertModel(model(id), owner), secrets);
  }
  assertModel(model, owner);
  return languageModelProvider(telemetryProviderName(model.provider), async () => model, secrets);
}

/** Options of {@link fromLanguageModel}. */
export interface LanguageModelProviderOptions {
  /**
   * Texts that must not appear in an error, such as the model's API key. Texts with the usual form of a key are removed
   * in any case. @default none
   */
  secrets?: readonly string[];
}

/** @param subject name of the value in messages @throws {InvalidOptionError} unless it is a model of a known version */
export function assertModel(model: LanguageModel, subject: string): LanguageModel {
  const version = model?.specificationVersion;
  if (version === 'v3' || version === 'v4') return model;
  const expected = 'an AI SDK language model of specification v3 or v4';
  throw new InvalidOptionError(subject, expected, version === undefined ? model : version);
}

/**
 * Adapts AI SDK models to the interface of a provider.
 *
 * @param load returns the model with a given id
 * @param secrets texts that must not appear in an error
 */
export function languageModelProvider(
  name: string,
  load: (modelId: string) => Promise<LanguageModel>,
  secrets: readonly string[] = [],
): Required<ModelProvider> {
  // The additions of v4 to v3 are neither sent nor read.
  const modelOf = async (id: string): Promise<LanguageModelV3> => (await load(id)) as LanguageModelV3;

  const failure = (error: unknown, answer: AnswerBuilder, { signal }: ModelOptions, messages: Message[]): unknown => {
    if (signal?.aborted) return signal.reason;
    const { provider, paused } = answer;
    return toProviderError(toMediaError(error, messages, provider), provider, secrets, paused);
  };

  return {
    name,
    jsonMode: true,
    readsParts: true,

    async chat(messages: Message[], options: ModelOptions): Promise<ModelResponse> {
      checkModelOptionNames(options);
      const model = await modelOf(options.model);
      const first = await toCall(messages, options, model);
      let call = first.options;
      const answer = new AnswerBuilder(model.provider, first.names.toOwn);
      try {
        for (let pauses = 0; ; pauses += 1) {
          const result = await model.doGenerate(call);
          // A package may read an error with status 200 as an answer without content.
          if (result.content.length === 0 && hasError(result.response?.body)) throw result.response.body;
          for (const part of result.content) answer.add(part);
          if (!isPaused(result, answer) || pauses === maxPauses) {
            return { content: answer.text, usage: noUsage(), ...answer.collected, ...answer.finish(result) };
          }
          ({ options: call } = await toCall([...messages, answer.pause(result.usage)], options, model));
        }
      } catch (error) {
        throw failure(error, answer, options, messages);
      }
    },

    async *chatStream(messages: Message[], options: ModelOptions): AsyncGenerator<ModelStreamChunk> {
      checkModelOptionNames(options);
      const model = await modelOf(options.model);
      const first = await toCall(messages, options, model);
      let call = first.options;
      const answer = new AnswerBuilder(model.provider, first.names.toOwn);
      try {
        for (let pauses = 0; ; pauses += 1) {
          const { stream } = await model.doStream(call);
          const finish = yield* readStream(stream, model.provider, answer);
          if (!isPaused(finish, answer) || pauses === maxPauses) {
            yield answer.finishStream(finish);
            return;
          }
          ({ options: call } = await toCall([...messages, answer.pause(finish.usage)], options, model));
        }
      } catch (error) {
        throw failure(error, answer, options, messages);
      }
    },
  };
}

/** Returns a call. Its code is as large as that of a vendor, and loaded like that. */
async function toCall(messages: readonly Message[], options: ModelOptions, model: LanguageModelV3): Promise<ModelCall> {
  const { toModelCall } = await import('./language-model-call.js');
  return toModelCall(messages, options, model);
}

/** Number of times that a vendor is asked to continue an answer. */
const maxPauses = 8;

/**
 * Returns `true` if Anthropic interrupted an answer because its own tools take long: it continues the answer when it
 * receives it back.
 *
 * @see https://docs.anthropic.com/en/api/handling-stop-reasons#pause-turn
 */
function isPaused({ finishReason }: Pick<Finish, 'finishReason'>, { collected }: AnswerBuilder): boolean {
  return finishReason.raw === 'pause_turn' && collected.vendorCalls !== undefined;
}

async function* readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  provider: string,
  answer: AnswerBuilder,
): AsyncGenerator<ModelStreamChunk, Finish> {
  const assembler = new StreamAssembler(answer);
  const calls = new Map<string, VendorCall>();
  let warnings: readonly SharedV3Warning[] = [];
  for await (const part of stream) {
    assembler.add(part);
    if (part.type === 'stream-start') warnings = part.warnings;
    else if (part.type === 'text-delta' && part.delta !== '') yield { content: part.delta };
    else if (part.type === 'reasoning-delta' && part.delta !== '') yield { reasoning: part.delta };
    else if (part.type === 'source') yield { sources: [toSource(part)] };
    else if (part.type === 'tool-call' && part.providerExecuted) {
      calls.set(part.toolCallId, toVendorCall(part));
      yield { vendorCalls: [toVendorCall(part)] };
    } else if (part.type === 'tool-result' && part.preliminary !== true) {
      yield { vendorCalls: [withVendorResult(part, calls.get(part.toolCallId))] };
    } else if (part.type === 'error' && !isUnknownEvent(part.error, provider)) throw part.error;
    else if (part.type === 'finish') return { ...part, warnings };
  }
  throw new CutStreamError(provider);
}

function hasError(body: unknown): body is object {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'object' && !!body.error;
}

const anthropicEvents: ReadonlySet<unknown> = new Set([
  ...['message_start', 'message_delta', 'message_stop', 'ping', 'error'],
  ...['content_block_start', 'content_block_delta', 'content_block_stop'],
]);

/**
 * Returns `true` for the error about an event of a new type, which a client of Anthropic has to ignore.
 *
 * @see https://docs.anthropic.com/en/docs/build-with-claude/streaming#other-events
 */
export function isUnknownEvent(error: unknown, provider: string): boolean {
  if (!provider.includes('anthropic') || !(error instanceof Error) || error.name !== 'AI_TypeValidationError') {
    return false;
  }
  const value = 'value' in error ? error.value : undefined;
  return typeof value === 'object' && value !== null && 'type' in value && !anthropicEvents.has(value.type);
}

// AI SDK names that differ from the semantic conventions. A longer name comes before its prefix.
const conventionNames = new Map([
  ['google.vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
]);

/** Returns the name of an AI SDK provider in traces and metrics: `openai` for `openai.chat`. */
export function telemetryProviderName(provider: string): string {
  for (const [prefix, name] of conventionNames) {
    if (provider === prefix || provider.startsWith(`${prefix}.`)) return name;
  }
  return provider.split('.', 1)[0] ?? provider;
}
