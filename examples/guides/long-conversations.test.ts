import { createHub } from 'hubline';
import type { Message } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createAdvisor } from './long-conversations.js';

test('a summary of the first exchanges remains in a long conversation', async () => {
  let sent: readonly Message[] = [];
  const entry = ({ messages }: { messages: readonly Message[] }): string => {
    if (messages[0]?.content.includes('minutes')) return 'The customer leaves Oslo on 3 May.';
    sent = messages;
    return 'Noted.';
  };
  const advisor = createAdvisor(createHub(), scriptedProvider(Array.from({ length: 60 }, () => entry)));
  await advisor.run('I leave Oslo on 3 May.', { conversationId: 'c' });
  for (let day = 1; day < 40; day++) await advisor.run(`What about day ${day}?`, { conversationId: 'c' });
  expect(sent.length).toBeLessThan(62);
  expect(sent[1]?.content).toBe('[Summary of the earlier conversation]\nThe customer leaves Oslo on 3 May.');
});
