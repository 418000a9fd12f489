import type { Message, ToolCall } from '../model/message.js';

const lostResult = 'Error: no result was recorded; the call may or may not have been carried out';

/**
 * Puts every call and its result together, as vendors demand it: results right after the message that
 * asks for them, in the order of the calls. A call without a result (the process died in between, or the
 * run still goes on) gets one that says so; a result without its call is dropped. Messages of other runs
 * that came in between move behind.
 */
export function repairPairs(messages: readonly Message[]): Message[] {
  const results = resultsByCall(messages);
  return messages.flatMap((message): Message[] => {
    if (message.role === 'tool') return [];
    const answers = (message.toolCalls ?? []).map((call): Message => {
      return results.get(call) ?? { role: 'tool', toolCallId: call.id, content: lostResult };
    });
    return [message, ...answers];
  });
}

/** A result belongs to the earliest call of its id that has none yet: ids may come again in a later run. */
function resultsByCall(messages: readonly Message[]): Map<ToolCall, Message> {
  const results = new Map<ToolCall, Message>();
  const open = new Map<string, ToolCall[]>();
  for (const message of messages) {
    for (const call of message.toolCalls ?? []) {
      const sameId = open.get(call.id);
      if (sameId === undefined) open.set(call.id, [call]);
      else sameId.push(call);
    }
    if (message.role !== 'tool' || message.toolCallId === undefined) continue;
    const call = open.get(message.toolCallId)?.shift();
    if (call !== undefined) results.set(call, message);
  }
  return results;
}
