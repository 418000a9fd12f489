import { estimateMediaTokens, type Part } from './part.js';
import type { TokenUsage } from './token-usage.js';

/** Author of a message. `tool` carries the result of one tool call. */
export type MessageRole = 'system' | 'user' | 'assistant' | 'tool';

/** One requested invocation of a tool. */
export interface ToolCall {
  /** Unique within a transcript. */
  id: string;
  name: string;
  /** Arguments as the model wrote them: JSON, unless the model made a mistake. Empty means `{}`. */
  arguments: string;
}

/**
 * Position of a stored message in its exchange, and state of the exchange after it. An exchange is one input with every
 * message that it led to.
 */
export interface ExchangeMark {
  /** Id of the exchange: the run's `idempotencyKey`, or a random UUID. */
  id: string;
  /** Id of an earlier exchange that this one replaces, and that is not read any more. Present on its input only. */
  replaces?: string;
  /** Number of messages stored since the input, 0 for the input. */
  index: number;
  /** Number of model turns so far. */
  turns: number;
  /** Number of requested tool calls so far. */
  toolCalls: number;
  /** Tokens spent so far, delegates included. */
  usage: TokenUsage;
  /** Status of the exchange. Present on its final answer. */
  status?: 'completed' | 'max_iterations' | 'token_budget_exceeded';
  /** `true` on a final answer that reached the token limit. */
  truncated?: true;
  /** Reason for which `afterModel` refused this answer. Present on that answer only. */
  refusal?: string;
  /**
   * Agents of the exchange so far, if the conversation was handed over: the first one, and each that took it over. The
   * last one has the conversation.
   */
  agents?: readonly string[];
}

/** One entry of a transcript. */
export interface Message {
  role: MessageRole;
  /**
   * The text. For a `tool` message, the result as JSON or the error. Empty if the model only called tools, and for
   * media without a text.
   */
  content: string;
  /** On a message with images, audio or files: all its parts in order, its text included. */
  parts?: Part[];
  /** On a `tool` message: id of the call that it answers. */
  toolCallId?: string;
  /** On an `assistant` message: calls that the model requests. */
  toolCalls?: ToolCall[];
  /** On a stored message: the exchange that it belongs to. */
  exchange?: ExchangeMark;
  /** `true` on a user message that stands for summarised exchanges. */
  isSummary?: true;
  /** JSON that the vendor expects back unchanged with this message, such as a thought signature. */
  providerMetadata?: Record<string, unknown>;
}

/** Result of one tool call. */
export interface ToolResult {
  toolCallId: string;
  name: string;
  /** Value that `execute` returned, also if it has no JSON form. `null` after any other `error`. */
  result: unknown;
  /** Parts of a {@link MediaResult}. `result` is then a text. */
  parts?: Part[];
  /** Error message that the model receives. Absent if the call succeeded. */
  error?: string;
  /** Milliseconds from the call to its result; 0 for a call that was not executed. */
  durationMs: number;
}

/** Description of a tool that the model receives. */
export interface ToolDefinition {
  /** 1 to 64 letters, digits, `_` or `-`: the names that every vendor accepts. */
  name: string;
  description: string;
  /** JSON Schema of the arguments: draft 2020-12, or draft-07 if its `$schema` says so. */
  parameters: Record<string, unknown>;
}

const bytesPerToken = 4;
const tokensPerMessage = 4;

/** Estimates the tokens of a text: one token per four bytes of UTF-8, rounded up. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

/** Estimates the tokens of `messages` from index `from` to the end: text, media, tool calls, reasoning and signatures. */
export function estimateMessageTokens(messages: readonly Message[], from = 0): number {
  let tokens = 0;
  for (let i = from; i < messages.length; i++) {
    const message = messages[i];
    if (message === undefined) continue;
    tokens += tokensPerMessage + estimateTokens(message.content);
    for (const call of message.toolCalls ?? []) tokens += estimateTokens(call.name) + estimateTokens(call.arguments);
    const { providerMetadata, parts } = message;
    if (parts !== undefined) tokens += estimateMediaTokens(parts);
    if (providerMetadata !== undefined) tokens += estimateMetadataTokens(providerMetadata, message.content);
  }
  return tokens;
}

// Metadata never changes, and a run estimates each message per turn.
const metadataTokens = new WeakMap<object, number>();

/** Estimates the tokens of reasoning and signatures. The text of the message is counted already. */
function estimateMetadataTokens(metadata: object, content: string): number {
  let tokens = metadataTokens.get(metadata);
  if (tokens === undefined) {
    tokens = Math.ceil(metadataBytes(metadata, content) / bytesPerToken);
    metadataTokens.set(metadata, tokens);
  }
  return tokens;
}

function metadataBytes(value: unknown, content: string): number {
  if (typeof value === 'string') return value === content ? 0 : Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((bytes, each) => bytes + metadataBytes(each, content), 0);
}

/** Estimates the usage of a call that the provider did not report, and marks it as an estimate. */
export function estimateUsage(promptTokens: number, answer: readonly string[]): TokenUsage {
  const completionTokens = answer.reduce((sum, text) => sum + estimateTokens(text), 0);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, estimated: true };
}
