import type { Message } from '../model/message.js';

/**
 * Returns the newest messages of a well-paired transcript, at most `maxMessages`. Whole exchanges are dropped, oldest
 * first. If the newest exchange is too long by itself, its user message and its newest turns that fit remain.
 */
export function trimExchanges(messages: readonly Message[], maxMessages: number): Message[] {
  if (messages.length <= maxMessages) return [...messages];
  const exchanges = splitBefore(messages, (message) => message.role === 'user');
  const kept = newestThatFit(exchanges, maxMessages);
  if (kept.length > 0) return kept.flat();
  const newest = exchanges.at(-1) ?? [];
  const question = newest.slice(0, newest[0]?.role === 'user' ? 1 : 0);
  const turns = splitBefore(newest.slice(question.length), (message) => message.role !== 'tool');
  return [...question, ...newestThatFit(turns, maxMessages - question.length).flat()];
}

/** Drops the rest of an exchange whose start was cut: vendors require a user message first. */
export function dropHeadless(messages: readonly Message[]): Message[] {
  const start = messages.findIndex((message) => message.role === 'user');
  return start === -1 ? [] : messages.slice(start);
}

function splitBefore(messages: readonly Message[], begins: (message: Message) => boolean): Message[][] {
  const groups: Message[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last === undefined || begins(message)) groups.push([message]);
    else last.push(message);
  }
  return groups;
}

function newestThatFit(groups: readonly Message[][], maxMessages: number): Message[][] {
  let left = maxMessages;
  let from = groups.length;
  for (let i = groups.length - 1; i >= 0; i--) {
    left -= groups[i]?.length ?? 0;
    if (left < 0) break;
    from = i;
  }
  return groups.slice(from);
}
