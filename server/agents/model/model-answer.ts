import { InvalidAnswerError } from '../errors.js';
import { recordOf } from './foreign-values.js';
import type { ToolCall } from './message.js';
import type { FinishReason, ModelResponse, ModelStreamChunk } from './model-provider.js';
import { CutStreamError } from './provider-error.js';
import { noUsage, reportedUsage, type TokenUsage } from './token-usage.js';
import { addVendorCalls, readSources, type Source, type VendorCall } from './vendor-parts.js';

/** Validated answer of a model: a custom provider may return anything. */
export interface ModelAnswer {
  readonly content: string;
  readonly toolCalls: readonly ToolCall[];
  /** Absent if the provider reported none. */
  readonly usage?: TokenUsage;
  readonly finishReason: FinishReason;
  readonly unreadableCall?: string;
  readonly providerMetadata?: Record<string, unknown>;
  readonly ignoredSettings?: readonly string[];
  readonly sources?: readonly Source[];
  readonly vendorCalls?: readonly VendorCall[];
}

/** Answer with its usage, reported or estimated. */
export type PaidAnswer = ModelAnswer & { readonly usage: TokenUsage };

const noCalls: readonly ToolCall[] = [];

/** Validates an answer. A validated one is returned unchanged. @throws {InvalidAnswerError} */
export function readAnswer(response: ModelResponse | ModelAnswer): ModelAnswer {
  if (typeof response !== 'object' || response === null) throw new InvalidAnswerError('an object', response);
  const { content, toolCalls, usage, finishReason, unreadableCall, providerMetadata, ignoredSettings } = response;
  const { sources, vendorCalls } = response;
  const reported = reportedUsage(usage);
  if (unreadableCall !== undefined && typeof unreadableCall !== 'string') {
    throw new InvalidAnswerError('an unreadableCall that is a string', unreadableCall);
  }
  if (providerMetadata && typeof providerMetadata !== 'object') {
    throw new InvalidAnswerError('providerMetadata that is an object', providerMetadata);
  }
  const text = readContent(content);
  const calls = readCalls(toolCalls);
  // No spreads: they take longer than the rest of the function.
  const answer: { -readonly [Key in keyof ModelAnswer]: ModelAnswer[Key] } =
    reported === undefined
      ? { content: text, toolCalls: calls, finishReason }
      : { content: text, toolCalls: calls, finishReason, usage: reported };
  if (unreadableCall !== undefined) answer.unreadableCall = unreadableCall;
  if (providerMetadata) answer.providerMetadata = providerMetadata;
  if (Array.isArray(ignoredSettings)) answer.ignoredSettings = ignoredSettings.map(String);
  if (sources) answer.sources = readSources(sources);
  if (vendorCalls) answer.vendorCalls = readVendorCalls(vendorCalls);
  return answer;
}

/** Part of a streamed answer that a reader sees. */
export type AnswerDelta =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'source'; readonly source: Source }
  | { readonly kind: 'vendor-call'; readonly call: VendorCall };

/** Receives parts of a streamed answer. The next chunk is read when the promise resolves, if there is one. */
export type OnDelta = (delta: AnswerDelta) => Promise<void> | undefined;

/** Returns what a reader sees of a complete answer. */
export function deltasOf({ content, sources = [], vendorCalls = [] }: ModelAnswer): AnswerDelta[] {
  return [
    ...vendorCalls.map((call): AnswerDelta => ({ kind: 'vendor-call', call })),
    ...(content === '' ? [] : [{ kind: 'text', text: content } as const]),
    ...sources.map((source): AnswerDelta => ({ kind: 'source', source })),
  ];
}

/**
 * Collects a streamed answer, and passes each part to `onDelta` when it arrives.
 *
 * @throws {InvalidAnswerError}
 * @throws {CutStreamError} if the stream ends without a finish reason
 */
export async function collectAnswer(chunks: AsyncIterable<ModelStreamChunk>, onDelta: OnDelta): Promise<ModelAnswer> {
  const whole: { -readonly [Key in keyof ModelResponse]?: ModelResponse[Key] } = {};
  let content = '';
  const toolCalls: ToolCall[] = [];
  const sources: Source[] = [];
  const vendorCalls: VendorCall[] = [];
  let usage: TokenUsage | undefined;
  for await (const chunk of chunks) {
    if (typeof chunk !== 'object' || chunk === null) throw new InvalidAnswerError('chunks that are objects', chunk);
    const reasoning = readContent(chunk.reasoning);
    if (reasoning !== '') await onDelta({ kind: 'reasoning', text: reasoning });
    if (chunk.vendorCalls) {
      const calls = readVendorCalls(chunk.vendorCalls);
      addVendorCalls(vendorCalls, calls);
      for (const call of calls) void onDelta({ kind: 'vendor-call', call });
    }
    const text = readContent(chunk.content);
    if (text !== '') {
      content += text;
      const room = onDelta({ kind: 'text', text });
      if (room !== undefined) await room;
    }
    if (chunk.sources) {
      for (const source of readSources(chunk.sources)) {
        sources.push(source);
        void onDelta({ kind: 'source', source });
      }
    }
    toolCalls.push(...readCalls(chunk.toolCalls));
    usage = chunk.usage ?? usage;
    // Some wire formats send null before the last chunk.
    if (chunk.finishReason) whole.finishReason = chunk.finishReason;
    if (chunk.unreadableCall !== undefined) whole.unreadableCall = chunk.unreadableCall;
    if (chunk.providerMetadata !== undefined) whole.providerMetadata = chunk.providerMetadata;
    if (chunk.ignoredSettings !== undefined) whole.ignoredSettings = chunk.ignoredSettings;
  }
  const { finishReason } = whole;
  if (finishReason === undefined) throw new CutStreamError('the model provider', reportedUsage(usage));
  if (sources.length > 0) whole.sources = sources;
  if (vendorCalls.length > 0) whole.vendorCalls = vendorCalls;
  return readAnswer({ ...whole, content, toolCalls, usage: usage ?? noUsage(), finishReason });
}

/** Returns every text that the model wrote, tool calls included. */
export function textsOf({ content, toolCalls }: ModelAnswer): string[] {
  return [content, ...toolCalls.flatMap((call) => [call.name, call.arguments])];
}

/** Returns the note for the model about a call that could not be read. */
export function unreadableCallNote(reason: string): string {
  return `Your last tool call could not be read: ${reason}. Repeat it with arguments that are valid JSON.`;
}

function readContent(content: unknown): string {
  if (content === undefined || content === null) return '';
  if (typeof content !== 'string') throw new InvalidAnswerError('content that is a string', content);
  return content;
}

function readCalls(calls: unknown): readonly ToolCall[] {
  if (calls === undefined || calls === null) return noCalls;
  if (!Array.isArray(calls)) throw new InvalidAnswerError('toolCalls that are an array', calls);
  const read: ToolCall[] = [];
  for (const call of calls) read.push(readCall(call));
  return read;
}

function readVendorCalls(calls: unknown): readonly VendorCall[] {
  if (!Array.isArray(calls)) throw new InvalidAnswerError('vendorCalls that are an array', calls);
  return calls.map((call: unknown): VendorCall => {
    const { result, isError } = recordOf(call);
    return {
      ...readCall(call),
      ...(result !== undefined && { result }),
      ...(isError === true && { isError }),
    };
  });
}

function readCall(call: unknown): ToolCall {
  if (typeof call !== 'object' || call === null) throw new InvalidAnswerError('toolCalls that are objects', call);
  const { id = '', name, arguments: text = '' }: { [Key in keyof ToolCall]?: unknown } = call;
  if (typeof id !== 'string') throw new InvalidAnswerError('a tool call with a string for its id', id);
  if (typeof name !== 'string') throw new InvalidAnswerError('a tool call with a string for its name', name);
  if (typeof text !== 'string') throw new InvalidAnswerError('a tool call with JSON text for its arguments', text);
  return { id, name, arguments: text };
}
