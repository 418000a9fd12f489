import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3Reasoning,
  LanguageModelV3StreamPart,
  LanguageModelV3Text,
  LanguageModelV3ToolResult,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
  SharedV3Warning,
} from '@ai-sdk/provider';
import { parseJson, recordOf } from '../model/foreign-values.js';
import type { Message, ToolCall } from '../model/message.js';
import type { FinishReason, ModelStreamChunk } from '../model/model-provider.js';
import { ContentFilterError, CutStreamError, ProviderError } from '../model/provider-error.js';
import { addUsage, noUsage, type TokenUsage } from '../model/token-usage.js';
import { addVendorCalls, type Source, type VendorCall } from '../model/vendor-parts.js';
import { toSource, toVendorCall, withVendorResult } from './vendor-tools.js';

/** End of a language model's answer. */
export interface Finish {
  readonly finishReason: LanguageModelV3FinishReason;
  readonly usage: LanguageModelV3Usage;
  readonly providerMetadata?: SharedV3ProviderMetadata | undefined;
  readonly warnings?: readonly SharedV3Warning[] | undefined;
}

/** Sources of an answer, and calls that the vendor ran. */
type VendorParts = Pick<ModelStreamChunk, 'sources' | 'vendorCalls'>;

/** Builds an answer from the parts that a language model returns. */
export class AnswerBuilder {
  text = '';
  readonly provider: string;
  readonly #toOwnName: (name: string) => string;
  readonly #toolCalls: ToolCall[] = [];
  readonly #parts: ReplayPart[] = [];
  readonly #sources: Source[] = [];
  readonly #vendorCalls: VendorCall[] = [];
  readonly #before: TokenUsage = noUsage();

  /** @param toOwnName returns the name of the tool that a model calls */
  constructor(provider: string, toOwnName: (name: string) => string) {
    this.provider = provider;
    this.#toOwnName = toOwnName;
  }

  /** Adds a complete part. Drops files. */
  add(part: LanguageModelV3Content): void {
    const metadata = part.providerMetadata && { metadata: part.providerMetadata };
    if (part.type === 'text') this.text += part.text;
    if (part.type === 'text' || part.type === 'reasoning') {
      this.#parts.push({ type: part.type, text: part.text, ...metadata });
    } else if (part.type === 'tool-call' && !part.providerExecuted) {
      this.#parts.push({ type: 'call', index: this.#toolCalls.length, ...metadata });
      this.#toolCalls.push({ id: part.toolCallId, name: this.#toOwnName(part.toolName), arguments: part.input });
    } else if (part.type === 'tool-call') {
      const { toolCallId: id, toolName: name, input } = part;
      this.#parts.push({ type: 'vendor-call', id, name, input: parseJson(input) ?? {}, ...metadata });
      addVendorCalls(this.#vendorCalls, [toVendorCall(part)]);
    } else if (part.type === 'tool-result' && part.preliminary !== true) {
      const { toolCallId: id, toolName: name, result, isError } = part;
      const failed = isError === true && { isError };
      const call = this.#vendorCalls.find((each) => each.id === id);
      addVendorCalls(this.#vendorCalls, [withVendorResult(part, call)]);
      this.#parts.push({ type: 'vendor-result', id, name, result, ...failed, ...metadata });
    } else if (part.type === 'source') this.#sources.push(toSource(part));
  }

  /** Sources and calls that the vendor ran, so far. */
  get collected(): VendorParts {
    const [sources, vendorCalls] = [this.#sources, this.#vendorCalls];
    return { ...(sources.length > 0 && { sources }), ...(vendorCalls.length > 0 && { vendorCalls }) };
  }

  /** Tokens of the answer before the vendor interrupted it; `undefined` if it did not. */
  get paused(): TokenUsage | undefined {
    return this.#before.totalTokens === 0 ? undefined : this.#before;
  }

  /** Returns the answer so far as a message, with which the vendor continues it. */
  pause(usage: LanguageModelV3Usage): Message {
    addUsage(this.#before, toUsage(usage) ?? noUsage());
    const [content, toolCalls] = [this.text, [...this.#toolCalls]];
    const replay = writeReplay(this.provider, [...this.#parts]);
    return { role: 'assistant', content, toolCalls, ...(replay && { providerMetadata: replay }) };
  }

  /**
   * Returns the answer without its text.
   *
   * @throws {ContentFilterError} if the vendor withheld the answer
   * @throws {ProviderError} if the vendor reports an error
   */
  finish({
    finishReason,
    usage,
    providerMetadata,
    warnings = [],
  }: Finish): ModelStreamChunk & { finishReason: FinishReason } {
    const reported = this.#total(toUsage(usage));
    const unreadableCall = unreadableCallOf(finishReason, providerMetadata);
    const replay = writeReplay(this.provider, this.#parts);
    const ignored = warnings.flatMap(toIgnoredSetting);
    return {
      finishReason:
        unreadableCall === undefined
          ? this.#toFinishReason(isRefused(providerMetadata) ? refusal : finishReason, reported)
          : 'stop',
      ...(this.#toolCalls.length > 0 && { toolCalls: this.#toolCalls }),
      ...(reported && { usage: reported }),
      ...(unreadableCall !== undefined && { unreadableCall }),
      ...(replay && { providerMetadata: replay }),
      ...(ignored.length > 0 && { ignoredSettings: ignored }),
    };
  }

  /** Returns a streamed answer without its text. @throws {CutStreamError} if the connection ended before the answer */
  finishStream(finish: Finish): ModelStreamChunk {
    const usage = toUsage(finish.usage);
    // Version 4 of the specification adds the reason `interrupted`.
    const unified: string = finish.finishReason.unified;
    // Other packages invent a finish reason. If the vendor reports usage but no part, it withheld the answer.
    const isInvented = unified === 'other' && finish.finishReason.raw === undefined;
    const isWithheld = usage !== undefined && this.#parts.length === 0;
    if (unified === 'interrupted' || (isInvented && !isWithheld)) throw new CutStreamError(this.provider, usage);
    return this.finish(finish);
  }

  /** Adds the tokens of the answer before the vendor interrupted it. */
  #total(usage: TokenUsage | undefined): TokenUsage | undefined {
    if (this.paused === undefined) return usage;
    const total = { ...this.paused };
    addUsage(total, usage ?? noUsage());
    return total;
  }

  #toFinishReason({ unified, raw }: LanguageModelV3FinishReason, usage: TokenUsage | undefined): FinishReason {
    const hasCalls = this.#toolCalls.length > 0;
    // Text before it is the beginning of an answer, and calls may be incomplete.
    if (unified === 'content-filter') {
      throw new ContentFilterError(this.provider, raw ?? 'content filter', usage);
    }
    if (unified === 'error') {
      const details = { provider: this.provider, retryable: true, ...(usage && { usage }) };
      throw new ProviderError(`${this.provider} ended its answer with an error: ${raw ?? 'no reason given'}`, details);
    }
    if (unified === 'other' && raw === undefined && !hasCalls && this.text === '') {
      throw new ContentFilterError(this.provider, 'the answer has no candidate and no reason', usage);
    }
    if (unified === 'length') return 'length';
    return hasCalls ? 'tool_calls' : 'stop';
  }
}

const refusal: LanguageModelV3FinishReason = { unified: 'content-filter', raw: 'refusal' };
const refusalKey = 'hubline';

/** Returns metadata that mark an answer as refused, for a package that does not read refusals. */
export function refusedMetadata(refused: boolean): SharedV3ProviderMetadata | undefined {
  return refused ? { [refusalKey]: { refused } } : undefined;
}

function isRefused(metadata: SharedV3ProviderMetadata | undefined): boolean {
  return metadata?.[refusalKey]?.['refused'] === true;
}

/**
 * Settings that need no report: a budget sets the tokens to more than the model can write, and the package then applies
 * the model's limit; the prompt describes the format as well.
 */
const replacedSettings: readonly string[] = ['maxOutputTokens', 'responseFormat'];

function toIgnoredSetting(warning: SharedV3Warning): string[] {
  if (warning.type !== 'unsupported' || replacedSettings.includes(warning.feature)) return [];
  const { feature, details } = warning;
  return [details === undefined ? feature : `${feature} (${details})`];
}

/** Returns the usage that a language model reports; `undefined` if it reports none. */
export function toUsage({ inputTokens, outputTokens }: LanguageModelV3Usage): TokenUsage | undefined {
  const promptTokens = inputTokens.total ?? 0;
  const completionTokens = outputTokens.total ?? 0;
  const totalTokens = promptTokens + completionTokens;
  // Every call costs tokens: vendor packages return zero if the vendor reported none.
  if (totalTokens === 0) return undefined;
  const { cacheRead, cacheWrite } = inputTokens;
  const { reasoning } = outputTokens;
  return {
    promptTokens,
    completionTokens,
    totalTokens,
    ...(cacheRead && { cachedTokens: cacheRead }),
    ...(cacheWrite && { cacheWriteTokens: cacheWrite }),
    ...(reasoning && { reasoningTokens: reasoning }),
  };
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

/**
 * Assembles the parts of a streamed answer, in the order in which they start: text and reasoning arrive in deltas, calls
 * complete.
 */
export class StreamAssembler {
  readonly #answer: AnswerBuilder;
  readonly #parts: LanguageModelV3Content[] = [];
  readonly #open = new Map<string, LanguageModelV3Text | LanguageModelV3Reasoning>();

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
  }

  /** Adds a part of the stream. The answer receives all parts when the stream finishes. */
  add(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#start(part.id, { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' });
        break;
      case 'tool-call':
      case 'tool-result':
      case 'source':
        this.#parts.push(part);
        break;
      case 'finish':
        for (const content of this.#parts) if (!isEmpty(content)) this.#answer.add(content);
        return;
    }
    if (!('id' in part) || part.id === undefined) return;
    const block = this.#open.get(part.id);
    if (block === undefined) return;
    if ('delta' in part) block.text += part.delta;
    // A signature may arrive with any delta; the last one counts.
    if ('providerMetadata' in part && part.providerMetadata) block.providerMetadata = part.providerMetadata;
    if (part.type === 'text-end' || part.type === 'reasoning-end') this.#open.delete(part.id);
  }

  #start(id: string, block: LanguageModelV3Text | LanguageModelV3Reasoning): void {
    this.#open.set(id, block);
    this.#parts.push(block);
  }
}

function isEmpty(content: LanguageModelV3Content): boolean {
  return 'text' in content && content.text === '' && content.providerMetadata === undefined;
}

/**
 * Part of an answer that the vendor requires back: reasoning in its position, the calls and results of the vendor's own
 * tools, and the vendor's signatures. A call of another tool is identified by its index in the message's `toolCalls`.
 */
export type ReplayPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly metadata?: SharedV3ProviderMetadata }
  | { readonly type: 'call'; readonly index: number; readonly metadata?: SharedV3ProviderMetadata }
  | {
      readonly type: 'vendor-call';
      readonly id: string;
      readonly name: string;
      readonly input: unknown;
      readonly metadata?: SharedV3ProviderMetadata;
    }
  | {
      readonly type: 'vendor-result';
      readonly id: string;
      readonly name: string;
      readonly result: LanguageModelV3ToolResult['result'];
      readonly isError?: true;
      readonly metadata?: SharedV3ProviderMetadata;
    };

/**
 * Returns the parts as `Message.providerMetadata` under the provider's name, so that another vendor that continues the
 * conversation does not receive them. Returns `undefined` if text and calls are sufficient.
 */
function writeReplay(provider: string, parts: readonly ReplayPart[]): Record<string, unknown> | undefined {
  const isNeeded = parts.some(({ type, metadata }) => (type !== 'text' && type !== 'call') || metadata !== undefined);
  return isNeeded ? { [provider]: parts } : undefined;
}

/** Returns the parts that this provider stored on a message, or `undefined`. */
export function readReplay({ providerMetadata }: Message, provider: string): readonly ReplayPart[] | undefined {
  const parts = providerMetadata?.[provider];
  return Array.isArray(parts) && parts.every(isReplayPart) ? parts : undefined;
}

function isReplayPart(value: unknown): value is ReplayPart {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  const metadata = 'metadata' in value ? value.metadata : undefined;
  if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null)) return false;
  if (value.type === 'call') return 'index' in value && Number.isInteger(value.index);
  if (value.type === 'vendor-call' || value.type === 'vendor-result') {
    const { id, name, input, result } = recordOf(value);
    return typeof id === 'string' && typeof name === 'string' && (input ?? result ?? undefined) !== undefined;
  }
  return (value.type === 'text' || value.type === 'reasoning') && 'text' in value && typeof value.text === 'string';
}
