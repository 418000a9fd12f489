import { ConversationMemory, createHub } from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createReception } from './handoff.js';

test('billing takes the conversation over, and hands it back in a later exchange', async () => {
  const handTo = (agentName: string) => ({ toolCalls: [{ name: 'handoff', arguments: { agentName } }] });
  const provider = scriptedProvider([
    handTo('billing'),
    'Which invoice?',
    'It is refunded.',
    handTo('reception'),
    'We open at nine.',
  ]);
  const hub = createHub();
  const reception = createReception(provider, new ConversationMemory({ transport: hub.transport }));
  await hub.start();
  const chat = { conversationId: 'chat' };
  expect(await reception.run('I want a refund', chat)).toMatchObject({
    agentName: 'billing',
    output: 'Which invoice?',
  });
  expect(await reception.run('Number 7', chat)).toMatchObject({ agentName: 'billing', output: 'It is refunded.' });
  expect(await reception.run('When do you open?', chat)).toMatchObject({ agentName: 'reception' });
  provider.assertDone();
  await hub.stop();
});
