import { expect } from 'vitest';
import type { Message } from '../model/message.js';

/** What vendors demand: right after each message with calls, exactly its results in their order, and no others. */
export function expectWellPaired(messages: readonly Message[]): void {
  let open: string[] = [];
  for (const { role, toolCalls = [], toolCallId } of messages) {
    if (role === 'tool') {
      expect(toolCallId).toBe(open.shift());
      continue;
    }
    expect(open).toEqual([]);
    open = toolCalls.map(({ id }) => id);
  }
  expect(open).toEqual([]);
}
