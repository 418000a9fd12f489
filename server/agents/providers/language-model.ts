import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { InvalidOptionError } from '../../errors.js';
import type { Message } from '../message.js';
import type { ModelOptions, ModelProvider, ModelResponse, ModelStreamChunk } from '../model-provider.js';
import { noUsage } from '../token-usage.js';
import { AnswerBuilder } from './answer.js';
import { BlockBuffer } from './block-buffer.js';
import { toProviderError } from './normalize-error.js';
import { toCall } from './prompt.js';
import { CutStreamError } from './provider-error.js';
import { wellKnownName } from './well-known-name.js';

/** Any AI SDK language model of specification v3 or v4, as the AI SDK's vendor packages make them. */
export interface LanguageModel {
  readonly specificationVersion: 'v3' | 'v4';
  /** The package's name of the vendor, such as `mistral.chat`: it stands in errors. */
  readonly provider: string;
  readonly modelId: string;
  /** Asks for a whole answer; typed by the AI SDK. */
  doGenerate(options: never): PromiseLike<unknown>;
  /** Asks for an answer piece by piece; typed by the AI SDK. */
  doStream(options: never): PromiseLike<unknown>;
}

/**
 * Makes any AI SDK language model a model provider: Azure, Bedrock, Mistral, Ollama ...
 *
 * @param model a model, which is then used whatever `ModelOptions.model` names, or a function that makes
 * the model of that name, such as `createAzure({ ... })` returns
 *
 * @example
 * const agent = createAgent({ name, systemPrompt, provider: fromLanguageModel(mistral('mistral-large')), model });
 *
 * @throws {InvalidOptionError}
 */
export function fromLanguageModel(
  model: LanguageModel | ((modelId: string) => LanguageModel),
): Required<ModelProvider> {
  if (typeof model === 'function') return languageModelProvider('unknown', async (id) => assertModel(model(id)));
  assertModel(model);
  return languageModelProvider(wellKnownName(model.provider), async () => model);
}

function assertModel(model: LanguageModel): LanguageModel {
  const version = model?.specificationVersion;
  if (version === 'v3' || version === 'v4') return model;
  const expected = 'an AI SDK language model of specification v3 or v4';
  throw new InvalidOptionError('model of fromLanguageModel', expected, version === undefined ? model : version);
}

/**
 * The one adapter over AI SDK models.
 *
 * @param load makes the model of a name
 * @param secret what must not be seen in an error
 */
export function languageModelProvider(
  name: string,
  load: (modelId: string) => Promise<LanguageModel>,
  secret?: string,
): Required<ModelProvider> {
  // What v4 adds to v3 is neither sent nor read here.
  const modelOf = async (id: string): Promise<LanguageModelV3> => (await load(id)) as LanguageModelV3;

  const failure = (error: unknown, provider: string, { signal }: ModelOptions): unknown =>
    signal?.aborted ? signal.reason : toProviderError(error, provider, secret);

  return {
    name,

    async chat(messages: Message[], options: ModelOptions): Promise<ModelResponse> {
      const model = await modelOf(options.model);
      const call = toCall(messages, options, model.provider);
      try {
        const result = await model.doGenerate(call);
        const answer = new AnswerBuilder(model.provider);
        for (const part of result.content) answer.add(part);
        return { content: answer.text, usage: noUsage(), ...answer.finish(result) };
      } catch (error) {
        throw failure(error, model.provider, options);
      }
    },

    async *chatStream(messages: Message[], options: ModelOptions): AsyncGenerator<ModelStreamChunk> {
      const model = await modelOf(options.model);
      const call = toCall(messages, options, model.provider);
      try {
        const { stream } = await model.doStream(call);
        yield* readStream(stream, model.provider);
      } catch (error) {
        throw failure(error, model.provider, options);
      }
    },
  };
}

async function* readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  provider: string,
): AsyncGenerator<ModelStreamChunk> {
  const answer = new AnswerBuilder(provider);
  const blocks = new BlockBuffer(answer);
  for await (const part of stream) {
    blocks.add(part);
    if (part.type === 'text-delta' && part.delta !== '') yield { content: part.delta };
    else if (part.type === 'error') throw hasNoFinish(part.error) ? new CutStreamError(provider) : part.error;
    else if (part.type === 'finish') {
      yield answer.finishStream(part);
      return;
    }
  }
  throw new CutStreamError(provider);
}

/** How the compatible dialect's package tells of a connection that ended: with no data to show. */
function hasNoFinish(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_InvalidResponseDataError' && 'data' in error && !error.data;
}
