import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from '@ai-sdk/provider';
import type { ToolCall } from '../message.js';
import type { FinishReason, ModelStreamChunk } from '../model-provider.js';
import type { TokenUsage } from '../token-usage.js';
import { ContentFilterError, CutStreamError, ProviderError } from './provider-error.js';
import { type ReplayPart, writeReplay } from './replay.js';

/** What a language model says as it finishes. */
export interface Finish {
  readonly finishReason: LanguageModelV3FinishReason;
  readonly usage: LanguageModelV3Usage;
  readonly providerMetadata?: SharedV3ProviderMetadata | undefined;
}

/** An answer in the making: parts in, text, calls and finish out. */
export class AnswerBuilder {
  text = '';
  readonly #provider: string;
  readonly #toolCalls: ToolCall[] = [];
  readonly #parts: ReplayPart[] = [];

  constructor(provider: string) {
    this.#provider = provider;
  }

  /** Takes a whole part. What the vendor itself carried out, files and sources are not passed on. */
  add(part: LanguageModelV3Content): void {
    const metadata = part.providerMetadata && { metadata: part.providerMetadata };
    if (part.type === 'text') this.text += part.text;
    if (part.type === 'text' || part.type === 'reasoning') {
      this.#parts.push({ type: part.type, text: part.text, ...metadata });
    } else if (part.type === 'tool-call' && !part.providerExecuted) {
      this.#parts.push({ type: 'call', index: this.#toolCalls.length, ...metadata });
      this.#toolCalls.push({ id: part.toolCallId, name: part.toolName, arguments: part.input });
    }
  }

  /**
   * The answer, but for its text.
   *
   * @throws {ContentFilterError} where the vendor withheld it
   * @throws {ProviderError} where the vendor says that it went wrong
   */
  finish({ finishReason, usage, providerMetadata }: Finish): ModelStreamChunk & { finishReason: FinishReason } {
    const reported = toUsage(usage);
    const unreadableCall = unreadableCallOf(finishReason, providerMetadata);
    const replay = writeReplay(this.#provider, this.#parts);
    return {
      finishReason: unreadableCall === undefined ? this.#toFinishReason(finishReason, reported) : 'stop',
      ...(this.#toolCalls.length > 0 && { toolCalls: this.#toolCalls }),
      ...(reported && { usage: reported }),
      ...(unreadableCall !== undefined && { unreadableCall }),
      ...(replay && { providerMetadata: replay }),
    };
  }

  /** The same of a stream. @throws {CutStreamError} where the connection ended before the answer did */
  finishStream(finish: Finish): ModelStreamChunk {
    const usage = toUsage(finish.usage);
    // Version 4 of the specification has a word of its own for it.
    const unified: string = finish.finishReason.unified;
    // Others make up a finish. One that reports a cost and brought nothing was withheld, though, not cut.
    const isMadeUp = unified === 'other' && finish.finishReason.raw === undefined;
    const isWithheld = usage !== undefined && this.#parts.length === 0;
    if (unified === 'interrupted' || (isMadeUp && !isWithheld)) throw new CutStreamError(this.#provider, usage);
    return this.finish(finish);
  }

  #toFinishReason({ unified, raw }: LanguageModelV3FinishReason, usage: TokenUsage | undefined): FinishReason {
    const hasCalls = this.#toolCalls.length > 0;
    // A refusal in words is an answer; calls of a withheld answer may not be all there were.
    if (unified === 'content-filter' && (hasCalls || this.text === '')) {
      throw new ContentFilterError(this.#provider, raw ?? 'content filter', usage);
    }
    if (unified === 'error') {
      const details = { provider: this.#provider, retryable: true, ...(usage && { usage }) };
      throw new ProviderError(`${this.#provider} broke off its answer: ${raw ?? 'no reason given'}`, details);
    }
    if (unified === 'other' && raw === undefined && !hasCalls && this.text === '') {
      throw new ContentFilterError(this.#provider, 'there is no candidate and no reason given', usage);
    }
    if (unified === 'length') return 'length';
    return hasCalls ? 'tool_calls' : 'stop';
  }
}

function toUsage({ inputTokens, outputTokens }: LanguageModelV3Usage): TokenUsage | undefined {
  const promptTokens = inputTokens.total ?? 0;
  const completionTokens = outputTokens.total ?? 0;
  const totalTokens = promptTokens + completionTokens;
  // No call costs nothing: vendor packages say zero where there was no report.
  return totalTokens === 0 ? undefined : { promptTokens, completionTokens, totalTokens };
}

const unreadableCallReasons: readonly unknown[] = ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'];

function unreadableCallOf(
  { raw }: LanguageModelV3FinishReason,
  metadata: SharedV3ProviderMetadata | undefined,
): string | undefined {
  if (!unreadableCallReasons.includes(raw)) return undefined;
  const message = metadata?.['google']?.['finishMessage'];
  return typeof message === 'string' ? message : raw;
}
