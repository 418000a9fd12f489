import type { Message } from './message.js';
import type { TokenUsage } from './token-usage.js';

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
