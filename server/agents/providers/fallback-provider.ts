import { HubError, InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Message } from '../model/message.js';
import {
  checkReadsParts,
  type ModelOptions,
  type ModelProvider,
  type ModelResponse,
  type ModelStreamChunk,
} from '../model/model-provider.js';
import { ProviderError, UnsupportedPartError } from '../model/provider-error.js';

/** Provider of a {@link fallbackProvider}. */
export interface FallbackEntry {
  readonly provider: ModelProvider;
  /** Model of this provider, and its settings. @default the agent's `model` */
  readonly model?: ModelOptions;
}

const entriesOf = new WeakMap<ModelProvider, readonly FallbackEntry[]>();

/**
 * Returns a provider that calls the first provider of a list, and the next one if that fails for a reason that the
 * caller does not cause: a retryable failure that persists, an exhausted quota, or an image, audio or a file that the
 * model cannot take. Never after a text was streamed.
 *
 * An agent applies its `retry` to each provider, counts the tokens of every call, and continues its run with the
 * provider that answered. Its next run starts with the first provider again.
 *
 * @example
 * const provider = fallbackProvider([
 *   { provider: new AnthropicProvider({ apiKey }) },
 *   { provider: new OpenAIProvider({ apiKey: otherKey }), model: { model: 'gpt-4o' } },
 * ]);
 * const agent = createAgent({ name, systemPrompt, provider, model: { model: 'claude-sonnet-4-5' } });
 *
 * @throws {InvalidOptionError}
 */
export function fallbackProvider(entries: readonly FallbackEntry[]): Required<ModelProvider> {
  if (!Array.isArray(entries) || entries.length === 0) {
    throw new InvalidOptionError(
      'fallbackProvider',
      'an array of { provider, model? } with at least one entry',
      entries,
    );
  }
  for (const entry of entries) {
    const check = new OptionChecker(entry, ['provider', 'model'], 'an entry of fallbackProvider');
    check.methods('provider', entry.provider, ['chat']);
    check.required('provider', entry.provider);
  }
  // A list in a list is one list.
  const all = entries.flatMap((entry) => {
    return candidatesOf(entry.provider).map(({ provider, model = entry.model }) => toEntry(provider, model));
  });
  const provider: Required<ModelProvider> = {
    name: all[0]?.provider.name ?? 'unknown',
    jsonMode: all.every((entry) => entry.provider.jsonMode === true),
    readsParts: all.some((entry) => entry.provider.readsParts === true),
    async chat(messages, options) {
      let failure: unknown;
      for (const entry of all) {
        try {
          checkReadsParts(entry.provider, messages);
          return await entry.provider.chat(messages, settingsOf(entry, options));
        } catch (error) {
          if (options.signal?.aborted || !isReplaceable(error)) throw error;
          failure ??= error;
        }
      }
      throw failure;
    },
    async *chatStream(messages, options) {
      let failure: unknown;
      for (const entry of all) {
        let isShown = false;
        try {
          checkReadsParts(entry.provider, messages);
          for await (const chunk of streamOf(entry.provider, messages, settingsOf(entry, options))) {
            isShown ||= chunk.content !== undefined && chunk.content !== '';
            yield chunk;
          }
          return;
        } catch (error) {
          if (isShown || options.signal?.aborted || !isReplaceable(error)) throw error;
          failure ??= error;
        }
      }
      throw failure;
    },
  };
  entriesOf.set(provider, all);
  return provider;
}

/** Returns the providers of a {@link fallbackProvider} in order, or the provider itself. */
export function candidatesOf(provider: ModelProvider): readonly FallbackEntry[] {
  return entriesOf.get(provider) ?? [{ provider }];
}

const quotaStatus: readonly unknown[] = [402, 429];

/**
 * Returns `true` for a failure that another provider may not have: a retryable one, an exhausted quota, or a part that
 * the model cannot take.
 */
export function isReplaceable(error: unknown): boolean {
  if (error instanceof UnsupportedPartError) return true;
  if (error instanceof ProviderError) return error.retryable || quotaStatus.includes(error.statusCode);
  return !HubError.is(error);
}

function toEntry(provider: ModelProvider, model: ModelOptions | undefined): FallbackEntry {
  return { provider, ...(model && { model }) };
}

function settingsOf({ model }: FallbackEntry, options: ModelOptions): ModelOptions {
  if (model === undefined) return options;
  const { tools, signal, responseFormat } = options;
  return { ...model, ...(tools && { tools }), ...(signal && { signal }), ...(responseFormat && { responseFormat }) };
}

async function* streamOf(
  provider: ModelProvider,
  messages: Message[],
  options: ModelOptions,
): AsyncIterable<ModelStreamChunk> {
  if (provider.chatStream !== undefined) yield* provider.chatStream(messages, options);
  else yield toChunk(await provider.chat(messages, options));
}

function toChunk(response: ModelResponse): ModelStreamChunk {
  return response;
}
