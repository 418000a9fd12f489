import { estimateMessageTokens, type Message } from '../model/message.js';

/** One input with every message that it led to. */
export interface Exchange {
  /** Absent for messages that were stored without an `exchange`. */
  readonly id: string | undefined;
  readonly messages: Message[];
}

const lostResult = 'Error: no result was recorded; the call may or may not have been executed';

/**
 * Groups messages by exchange, in order of the exchanges' first messages, without those that another one replaces. A message without an `exchange` belongs to
 * the last user message without one, and a tool result to the latest such exchange with its call.
 */
export function groupExchanges(messages: readonly Message[]): Exchange[] {
  const exchanges: Exchange[] = [];
  const byId = new Map<string, Exchange>();
  const unmarked: Exchange[] = [];
  const start = (id: string | undefined, message: Message): Exchange => {
    const exchange = { id, messages: [message] };
    exchanges.push(exchange);
    return exchange;
  };
  for (const message of messages) {
    const id = message.exchange?.id;
    if (id !== undefined) {
      const known = byId.get(id);
      if (known === undefined) byId.set(id, start(id, message));
      else known.messages.push(message);
      continue;
    }
    const target = message.role === 'tool' ? unmarked.findLast(waitsFor(message)) : unmarked.at(-1);
    if (target !== undefined && message.role !== 'user') target.messages.push(message);
    else if (message.role !== 'tool') unmarked.push(start(undefined, message));
  }
  const replaced = new Set(messages.flatMap(({ exchange }) => exchange?.replaces ?? []));
  return replaced.size === 0 ? exchanges : exchanges.filter(({ id }) => id === undefined || !replaced.has(id));
}

function waitsFor({ toolCallId }: Message): (exchange: Exchange) => boolean {
  return ({ messages }) =>
    messages.some(({ toolCalls = [] }) => toolCalls.some(({ id }) => id === toolCallId)) &&
    !messages.some((message) => message.role === 'tool' && message.toolCallId === toolCallId);
}

/**
 * Places the results of calls right after the message that requests them, in the order of the calls, as vendors
 * require. A call without a result (the process died, or the run is still active) receives a result that says so, or
 * why its answer was refused, and has no `exchange`. A result without its call is dropped.
 */
export function repairPairs(messages: readonly Message[]): Message[] {
  const results = new Map<string, Message[]>();
  for (const message of messages) {
    if (message.role !== 'tool' || message.toolCallId === undefined) continue;
    const sameId = results.get(message.toolCallId);
    if (sameId === undefined) results.set(message.toolCallId, [message]);
    else sameId.push(message);
  }
  return messages.flatMap((message): Message[] => {
    if (message.role === 'tool') return [];
    const refusal = message.exchange?.refusal;
    const missing = refusal === undefined ? lostResult : `Error: ${refusal}`;
    const answers = (message.toolCalls ?? []).map(({ id }): Message => {
      return results.get(id)?.shift() ?? { role: 'tool', toolCallId: id, content: missing };
    });
    return [message, ...answers];
  });
}

/** Returns `true` if the first message of the exchange is missing: vendors require a user message first. */
export function isHeadless({ messages: [first] }: Exchange): boolean {
  return first?.exchange === undefined ? first?.role !== 'user' : first.exchange.index > 0;
}

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
