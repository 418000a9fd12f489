import type { Message } from '../model/message.js';

/**
 * Moves the exchange that an earlier attempt started under this key to the end of the conversation, so that the run
 * resumes it. Returns `undefined` if there is none.
 */
export function resumeExchange(messages: readonly Message[], idempotencyKey: string): Message[] | undefined {
  const isQuestion = ({ role }: Message): boolean => role === 'user';
  const from = messages.findLastIndex((message) => message.idempotencyKey === idempotencyKey && isQuestion(message));
  if (from === -1) return undefined;
  const next = messages.findIndex((message, index) => index > from && isQuestion(message));
  const to = next === -1 ? messages.length : next;
  return [...messages.slice(0, from), ...messages.slice(to), ...messages.slice(from, to)];
}
