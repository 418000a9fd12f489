import { expect } from 'vitest';
import type { Message } from '../model/message.js';

/** Expects what vendors require: exactly the results of a message's calls right after it, in the order of the calls. */
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
