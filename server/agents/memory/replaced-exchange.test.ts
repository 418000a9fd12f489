import { expect, test } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import { createTool } from '../tools/tool.js';
import { type AgentMemory, ConversationMemory } from './conversation-memory.js';

const chat = { conversationId: 'chat' };
const again = { ...chat, regenerate: true };

function setUp(script: readonly ScriptEntry[], own?: AgentMemory) {
  const transport = memoryTransport({ clock: createFakeClock() }).connect({ service: 's', logger: silentLogger });
  const memory = own ?? new ConversationMemory({ transport });
  const provider = scriptedProvider(script);
  const work = createTool({ name: 'work', description: '', parameters: {}, execute: async () => 'done' });
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, memory, tools: [work] });
  const stored = async () => (await memory.getMessages('a', 'chat')).map(({ content }) => content);
  const sent = () => provider.calls.at(-1)?.messages.map(({ content }) => content);
  return { agent, stored, sent };
}

test('a run that regenerates replaces the last exchange, however often', async () => {
  const { agent, stored, sent } = setUp(['one', { toolCalls: [{ name: 'work' }] }, 'two', 'three', 'four', 'five']);
  await agent.run('first', chat);
  await agent.run('second', chat);
  for (const answer of ['three', 'four']) {
    await agent.run('second', again);
    expect(sent()).toEqual(['first', 'one', 'second']);
    expect(await stored()).toEqual(['first', 'one', 'second', answer]);
  }
  await agent.run('third', chat);
  expect(sent()).toEqual(['first', 'one', 'second', 'four', 'third']);
});

test('the first run of a conversation has nothing to replace', async () => {
  const { agent, stored } = setUp(['one']);
  await agent.run('first', again);
  expect(await stored()).toEqual(['first', 'one']);
});

test('an attempt that resumes its exchange replaces no other one', async () => {
  const { agent, stored } = setUp(['one', 'two', new Error('down'), 'three']);
  await agent.run('first', chat);
  await agent.run('second', chat);
  const attempt = { ...again, idempotencyKey: 'k' };
  expect((await agent.run('second', attempt)).status).toBe('failed');
  await agent.run('second', attempt);
  expect(await stored()).toEqual(['first', 'one', 'second', 'three']);
});

test('a memory of your own that stores messages as they are has the same exchanges', async () => {
  const messages: Awaited<ReturnType<AgentMemory['getMessages']>> = [];
  const own: AgentMemory = {
    addMessage: async (_agent, _run, message) => void messages.push(message),
    getMessages: async () => messages,
    clear: async () => {},
  };
  const { agent, sent } = setUp(['one', 'two', 'three', 'four'], own);
  await agent.run('first', chat);
  await agent.run('second', chat);
  await agent.run('second', again);
  await agent.run('third', chat);
  expect(sent()).toEqual(['first', 'one', 'second', 'three', 'third']);
});
