import type { Message } from '../model/message.js';

/**
 * The newest of a well-paired transcript, at most `maxMessages`. An exchange is a user's message with all
 * that it led to: the oldest goes first, and goes whole. Of one that is too long by itself the user's
 * message stays and its newest turns that fit.
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

/** Without the rest of an exchange whose beginning was cut away: vendors want a user's message first. */
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
