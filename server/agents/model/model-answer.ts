import { InvalidAnswerError } from '../errors.js';
import type { ToolCall } from './message.js';
import type { FinishReason, ModelResponse, ModelStreamChunk } from './model-provider.js';
import { CutStreamError } from './provider-error.js';
import { noUsage, reportedUsage, type TokenUsage } from './token-usage.js';

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
}

/** Answer with its usage, reported or estimated. */
export type PaidAnswer = ModelAnswer & { readonly usage: TokenUsage };

const noCalls: readonly ToolCall[] = [];

/** Validates an answer. A validated one is returned unchanged. @throws {InvalidAnswerError} */
export function readAnswer(response: ModelResponse | ModelAnswer): ModelAnswer {
  if (typeof response !== 'object' || response === null) throw new InvalidAnswerError('an object', response);
  const { content, toolCalls, usage, finishReason, unreadableCall, providerMetadata, ignoredSettings } = response;
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
  return answer;
}

/** Part of a streamed answer that a reader sees. */
export type DeltaKind = 'text' | 'reasoning';

/** Receives streamed text. The next chunk is read when the promise resolves, if there is one. */
export type OnDelta = (text: string, kind: DeltaKind) => Promise<void> | undefined;

/**
 * Collects a streamed answer, and passes each text to `onDelta` when it arrives.
 *
 * @throws {InvalidAnswerError}
 * @throws {CutStreamError} if the stream ends without a finish reason
 */
export async function collectAnswer(chunks: AsyncIterable<ModelStreamChunk>, onDelta: OnDelta): Promise<ModelAnswer> {
  const whole: { -readonly [Key in keyof ModelResponse]?: ModelResponse[Key] } = {};
  let content = '';
  const toolCalls: ToolCall[] = [];
  let usage: TokenUsage | undefined;
  for await (const chunk of chunks) {
    if (typeof chunk !== 'object' || chunk === null) throw new InvalidAnswerError('chunks that are objects', chunk);
    const reasoning = readContent(chunk.reasoning);
    if (reasoning !== '') await onDelta(reasoning, 'reasoning');
    const text = readContent(chunk.content);
    if (text !== '') {
      content += text;
      const room = onDelta(text, 'text');
      if (room !== undefined) await room;
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

function readCall(call: unknown): ToolCall {
  if (typeof call !== 'object' || call === null) throw new InvalidAnswerError('toolCalls that are objects', call);
  const { id = '', name, arguments: text = '' }: { [Key in keyof ToolCall]?: unknown } = call;
  if (typeof id !== 'string') throw new InvalidAnswerError('a tool call with a string for its id', id);
  if (typeof name !== 'string') throw new InvalidAnswerError('a tool call with a string for its name', name);
  if (typeof text !== 'string') throw new InvalidAnswerError('a tool call with JSON text for its arguments', text);
  return { id, name, arguments: text };
}
