import type { Message, ToolCall } from '../model/message.js';

const lostResult = 'Error: no result was recorded; the call may or may not have been executed';

/**
 * Places the results of calls right after the message that requests them, in the order of the calls, as vendors
 * require. A call without a result (the process died, or the run is still active) receives a result that says so. A
 * result without its call is dropped. Messages of other runs move behind the results.
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

/** Assigns a result to the earliest call of its id without a result: a later run may reuse an id. */
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
