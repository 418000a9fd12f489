import { nodeCrypto } from '../../node-crypto.js';
import type { KeyValueStore } from '../../transports/key-values/key-value-store.js';
import { estimateMessageTokens } from '../model/estimate-tokens.js';
import type { Message } from '../model/message.js';
import type { Exchange } from './exchanges.js';
import { type ConversationLimits, newestThatFit } from './trim-exchanges.js';

/** Summary of the oldest exchanges of a conversation. */
export interface ConversationSummary {
  readonly text: string;
  /** Keys of the exchanges that it covers and that the store may still contain. */
  readonly covers: readonly string[];
}

/** Returns the message that stands for the summarised exchanges. */
export function toSummaryMessage(text: string): Message {
  return { role: 'user', content: `[Summary of the earlier conversation]\n${text}`, isSummary: true };
}

/** Returns the key of an exchange: its id, or a hash of its first message if it was stored without one. */
export function exchangeKey({ id, messages: [first] }: Exchange): string {
  return id ?? `#${nodeCrypto().createHash('sha256').update(JSON.stringify(first)).digest('base64url')}`;
}

/** Returns the exchanges that the summary does not cover. Summarised exchanges are the oldest ones. */
export function withoutCovered(
  exchanges: readonly Exchange[],
  summary: ConversationSummary | undefined,
): readonly Exchange[] {
  if (summary === undefined) return exchanges;
  const covers = new Set(summary.covers);
  const first = exchanges.findIndex((exchange) => !covers.has(exchangeKey(exchange)));
  return first === -1 ? [] : exchanges.slice(first);
}

/** Returns the limits of the exchanges beside a summary. */
export function limitsBeside(summary: ConversationSummary | undefined, limits: ConversationLimits): ConversationLimits {
  if (summary === undefined) return limits;
  const tokens = estimateMessageTokens([toSummaryMessage(summary.text)]);
  return { maxMessages: limits.maxMessages - 1, maxTokens: limits.maxTokens - tokens };
}

/**
 * Returns the exchanges to summarise, oldest first; none if all fit. What remains takes half of the limits, so that
 * the next summary is due after many exchanges and not after one.
 */
export function exchangesToSummarize(exchanges: readonly Exchange[], limits: ConversationLimits): readonly Exchange[] {
  const groups = exchanges.map(({ messages }) => messages);
  if (newestThatFit(groups, limits).length === groups.length) return [];
  const half = { maxMessages: Math.floor(limits.maxMessages / 2), maxTokens: limits.maxTokens / 2 };
  const fitsAlone = newestThatFit(groups.slice(-1), limits).length;
  const kept = Math.max(newestThatFit(groups, half).length, fitsAlone);
  return exchanges.slice(0, exchanges.length - kept);
}

/** Reads a stored summary. A value that is not one counts as none. */
export async function readSummary(kv: KeyValueStore, key: string): Promise<ConversationSummary | undefined> {
  const stored = await kv.get(key);
  if (stored === undefined) return undefined;
  try {
    const { text, covers }: { text?: unknown; covers?: unknown } = Object(JSON.parse(stored));
    const isList = Array.isArray(covers) && covers.every((each) => typeof each === 'string');
    return typeof text === 'string' && isList ? { text, covers } : undefined;
  } catch {
    // The error of JSON.parse quotes the text, which must not reach a log.
    return undefined;
  }
}
