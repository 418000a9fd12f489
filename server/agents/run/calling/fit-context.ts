import { newestThatFit, splitTurns } from '../../memory/trim-exchanges.js';
import { estimateMessageTokens } from '../../model/estimate-tokens.js';
import type { Message } from '../../model/message.js';
import { cutContent } from '../../tools/tool-content.js';

const charsPerToken = 4;

/**
 * Returns the messages of a run that fit into `maxTokens`. The system prompt, a summary, the input and the newest turn remain;
 * earlier exchanges are dropped first, oldest first, then the oldest turns of the run. If the newest turn is too long
 * by itself, its results are cut. Tokens are estimated.
 *
 * @param inputIndex index of the run's input in the messages
 */
export function fitContext(messages: Message[], inputIndex: number, maxTokens: number): Message[] {
  if (estimateMessageTokens(messages) <= maxTokens) return messages;
  let first = messages[0]?.role === 'system' ? 1 : 0;
  // The summary stands for everything that is dropped.
  if (messages[first]?.isSummary && first < inputIndex) first++;
  const fixed = [...messages.slice(0, first), ...messages.slice(inputIndex, inputIndex + 1)];
  const turns = splitTurns(messages.slice(inputIndex + 1));
  const newest = turns.pop() ?? [];
  let left = maxTokens - estimateMessageTokens(fixed);
  const own = cutResults(newest, left);
  left -= estimateMessageTokens(own);
  const keptTurns = newestThatFit(turns, { maxMessages: Number.POSITIVE_INFINITY, maxTokens: left });
  left -= estimateMessageTokens(keptTurns.flat());
  const earlier = splitExchanges(messages.slice(first, inputIndex));
  const keptEarlier =
    keptTurns.length < turns.length
      ? []
      : newestThatFit(earlier, { maxMessages: Number.POSITIVE_INFINITY, maxTokens: left });
  return [
    ...messages.slice(0, first),
    ...keptEarlier.flat(),
    ...messages.slice(inputIndex, inputIndex + 1),
    ...keptTurns.flat(),
    ...own,
  ];
}

/** Cuts the results of a turn to equal shares of the tokens that its other messages leave. */
function cutResults(turn: Message[], maxTokens: number): Message[] {
  if (estimateMessageTokens(turn) <= maxTokens) return turn;
  const results = turn.filter(({ role }) => role === 'tool');
  if (results.length === 0) return turn;
  const others = estimateMessageTokens(
    turn.map((message) => (message.role === 'tool' ? { ...message, content: '' } : message)),
  );
  const share = Math.max(0, Math.floor(((maxTokens - others) * charsPerToken) / results.length) - noteChars);
  return turn.map((message) =>
    message.role === 'tool' ? { ...message, content: cutContent(message.content, share) } : message,
  );
}

/** Room for the note of `cutContent`. */
const noteChars = 100;

function splitExchanges(messages: readonly Message[]): Message[][] {
  const exchanges: Message[][] = [];
  for (const message of messages) {
    const last = exchanges.at(-1);
    if (last === undefined || message.role === 'user') exchanges.push([message]);
    else last.push(message);
  }
  return exchanges;
}
