import type { Message } from './message.js';

/** Number of tokens of one or more model calls. */
export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  /** Present if the provider did not report a part, so that it is estimated as one token per four bytes of text. */
  estimated?: true;
}

/** Returns a usage of zero tokens. */
export function noUsage(): TokenUsage {
  return { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
}

/** Adds `usage` to `sum` in place. */
export function addUsage(sum: TokenUsage, usage: TokenUsage): void {
  sum.promptTokens += usage.promptTokens;
  sum.completionTokens += usage.completionTokens;
  sum.totalTokens += usage.totalTokens;
  if (usage.estimated) sum.estimated = true;
}

/**
 * Returns the usage that a provider reported, or `undefined` if the report is unusable: not an object, a negative or
 * infinite count, or zero tokens, because every call costs some.
 */
export function reportedUsage(usage: unknown): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, estimated } = usage as Partial<TokenUsage>;
  if (!isCount(promptTokens) || !isCount(completionTokens) || !isCount(totalTokens)) return undefined;
  const total = Math.max(totalTokens, promptTokens + completionTokens);
  if (total === 0) return undefined;
  return { promptTokens, completionTokens, totalTokens: total, ...(estimated && { estimated }) };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

const bytesPerToken = 4;
const tokensPerMessage = 4;

/** Estimates the tokens of a text: one token per four bytes of UTF-8, rounded up. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

/** Estimates the tokens of `messages` from index `from` to the end, tool calls included. */
export function estimateMessageTokens(messages: readonly Message[], from = 0): number {
  let tokens = 0;
  for (let i = from; i < messages.length; i++) {
    const message = messages[i];
    if (message === undefined) continue;
    tokens += tokensPerMessage + estimateTokens(message.content);
    for (const call of message.toolCalls ?? []) tokens += estimateTokens(call.name) + estimateTokens(call.arguments);
  }
  return tokens;
}

/** Estimates the usage of a call that the provider did not report, and marks it as an estimate. */
export function estimateUsage(promptTokens: number, answer: readonly string[]): TokenUsage {
  const completionTokens = answer.reduce((sum, text) => sum + estimateTokens(text), 0);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, estimated: true };
}
