import { createAgent } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { MapMemory } from './own-memory.js';

test('a conversation continues until it is cleared', async () => {
  const memory = new MapMemory();
  const provider = scriptedProvider(['Welcome.', 'You are Ada.', 'I do not know.']);
  const agent = createAgent({ name: 'host', systemPrompt: 'Be brief.', provider, model: { model: 'any' }, memory });
  const options = { conversationId: 'chat-7' };
  await agent.run('I am Ada', options);
  expect((await agent.run('Who am I?', options)).messages).toHaveLength(5);
  await memory.clear('host', 'chat-7');
  expect((await agent.run('Who am I?', options)).messages).toHaveLength(3);
});
