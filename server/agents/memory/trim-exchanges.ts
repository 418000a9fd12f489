import { estimateMessageTokens } from '../model/estimate-tokens.js';
import type { Message } from '../model/message.js';
import type { Exchange } from './exchanges.js';

/** Bounds of a conversation. */
export interface ConversationLimits {
  readonly maxMessages: number;
  /** Estimated: one token per four bytes of text. */
  readonly maxTokens: number;
}

/**
 * Returns the newest exchanges that fit the limits. Whole exchanges are dropped, oldest first. If the newest one is too
 * long by itself, its input and its newest turns that fit remain. Its input remains in any case.
 */
export function trimExchanges(exchanges: readonly Exchange[], limits: ConversationLimits): Message[] {
  const kept = newestThatFit(
    exchanges.map(({ messages }) => messages),
    limits,
  );
  if (kept.length > 0) return kept.flat();
  const newest = exchanges.at(-1)?.messages ?? [];
  const input = newest.slice(0, newest[0]?.role === 'user' ? 1 : 0);
  const left = {
    maxMessages: limits.maxMessages - input.length,
    maxTokens: limits.maxTokens - estimateMessageTokens(input),
  };
  return [...input, ...newestThatFit(splitTurns(newest.slice(input.length)), left).flat()];
}

/** Splits the messages of an exchange after its input into turns: an answer with the results of its calls. */
export function splitTurns(messages: readonly Message[]): Message[][] {
  const turns: Message[][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last === undefined || message.role === 'assistant') turns.push([message]);
    else last.push(message);
  }
  return turns;
}

/** Returns the newest groups whose messages fit the limits together. */
export function newestThatFit(groups: readonly Message[][], limits: ConversationLimits): Message[][] {
  let { maxMessages, maxTokens } = limits;
  let from = groups.length;
  for (let i = groups.length - 1; i >= 0; i--) {
    const group = groups[i] ?? [];
    maxMessages -= group.length;
    if (maxTokens !== Number.POSITIVE_INFINITY) maxTokens -= estimateMessageTokens(group);
    if (maxMessages < 0 || maxTokens < 0) break;
    from = i;
  }
  return groups.slice(from);
}
