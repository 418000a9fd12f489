import { createHub } from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createChat } from './agent-memory.js';

test('each visitor continues their own conversation', async () => {
  const hub = createHub();
  const provider = scriptedProvider(['Welcome, Ada.', 'Welcome, Bob.', 'You are Ada.']);
  const say = createChat(hub, provider);
  await say('visitor-1', 'I am Ada');
  await say('visitor-2', 'I am Bob');
  expect(await say('visitor-1', 'Who am I?')).toBe('You are Ada.');
  expect(provider.calls[2]?.messages.map(({ content }) => content)).toEqual([
    'You are a friendly host.',
    'I am Ada',
    'Welcome, Ada.',
    'Who am I?',
  ]);
  await hub.stop();
});
