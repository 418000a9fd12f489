import { describe, expect, test } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger, type TransportManager } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import { MemoryEntryError } from '../errors.js';
import type { Message } from '../model/message.js';
import { ConversationMemory, type ConversationMemoryOptions } from './conversation-memory.js';
import { expectWellPaired } from './well-paired.fixture.js';

function transportOf(clock: FakeClock = createFakeClock()): TransportManager {
  return memoryTransport({ clock }).connect({ service: 's', logger: silentLogger });
}

const memoryOf = (options: Partial<ConversationMemoryOptions> = {}): ConversationMemory =>
  new ConversationMemory({ transport: transportOf(), ...options });

const user = (content: string): Message => ({ role: 'user', content });

test('messages are returned in order, by agent and run, with all fields', async () => {
  const memory = memoryOf();
  const messages: Message[] = [
    user('x'),
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'a', name: 't', arguments: '{}' }],
      providerMetadata: { google: [{ type: 'call', index: 0, metadata: { google: { thoughtSignature: 'sig' } } }] },
    },
    { role: 'tool', toolCallId: 'a', content: 'r' },
  ];
  for (const message of messages) await memory.addMessage('agent', 'run', message);
  await memory.addMessage('agent', 'other', user('y'));
  expect(await memory.getMessages('agent', 'run')).toEqual(messages);
  expect(await memory.getMessages('agent', 'other')).toEqual([user('y')]);
  expect(await memory.getMessages('agent', 'unknown')).toEqual([]);
});

test('names with any characters do not collide', async () => {
  const memory = memoryOf();
  await memory.addMessage('a:b', 'c', user('1'));
  await memory.addMessage('a', 'b:c', user('2'));
  await memory.addMessage('a","b', 'c', user('3'));
  expect(await memory.getMessages('a:b', 'c')).toEqual([user('1')]);
  expect(await memory.getMessages('a', 'b:c')).toEqual([user('2')]);
});

test('clear deletes one conversation', async () => {
  const memory = memoryOf();
  await memory.addMessage('a', '1', user('x'));
  await memory.addMessage('a', '2', user('y'));
  await memory.clear('a', '1');
  expect(await memory.getMessages('a', '1')).toEqual([]);
  expect(await memory.getMessages('a', '2')).toEqual([user('y')]);
});

describe('ttlSeconds', () => {
  test.each([
    [86_400, undefined],
    [60, 60],
  ])('deletes a conversation %i s after its last message', async (seconds, ttlSeconds) => {
    const clock = createFakeClock();
    const transport = transportOf(clock);
    const memory = new ConversationMemory({ transport, ...(ttlSeconds !== undefined && { ttlSeconds }) });
    await memory.addMessage('a', 'r', user('1'));
    await clock.advance(seconds * 1000 - 1);
    await memory.addMessage('a', 'r', user('2'));
    await clock.advance(seconds * 1000 - 1);
    expect(await memory.getMessages('a', 'r')).toHaveLength(2);
    await clock.advance(1);
    expect(await memory.getMessages('a', 'r')).toEqual([]);
  });
});

describe('maxMessages', () => {
  test.each([
    [100, undefined],
    [7, 7],
  ])('returns at most %i', async (expected, maxMessages) => {
    const memory = memoryOf(maxMessages === undefined ? {} : { maxMessages });
    for (let index = 0; index < 250; index++) await memory.addMessage('a', 'r', user(`${index}`));
    const messages = await memory.getMessages('a', 'r');
    expect(messages).toHaveLength(expected);
    expect(messages.at(-1)).toEqual(user('249'));
  });

  test('drops whole exchanges, also one that the store has cut in two', async () => {
    const memory = memoryOf({ maxMessages: 5 });
    for (let index = 0; index < 9; index++) {
      const id = `call-${index}`;
      await memory.addMessage('a', 'r', user(`${index}`));
      await memory.addMessage('a', 'r', {
        role: 'assistant',
        content: '',
        toolCalls: [{ id, name: 't', arguments: '' }],
      });
      await memory.addMessage('a', 'r', { role: 'tool', toolCallId: id, content: 'r' });
      const messages = await memory.getMessages('a', 'r');
      expectWellPaired(messages);
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    }
  });

  test('returns nothing of an exchange whose question the store has dropped', async () => {
    const memory = memoryOf({ maxMessages: 2 });
    await memory.addMessage('a', 'r', user('x'));
    for (let index = 0; index < 4; index++) await memory.addMessage('a', 'r', { role: 'assistant', content: 'y' });
    expect(await memory.getMessages('a', 'r')).toEqual([]);
  });
});

test('a conversation is well paired after a crash', async () => {
  const memory = memoryOf();
  await memory.addMessage('a', 'r', user('pay'));
  await memory.addMessage('a', 'r', {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: '1', name: 'pay', arguments: '{}' }],
  });
  const messages = await memory.getMessages('a', 'r');
  expectWellPaired(messages);
  expect(messages.at(-1)?.content).toContain('may or may not have been executed');
});

test('200 concurrent runs of one conversation lose no message', async () => {
  const runs = 200;
  const memory = memoryOf({ maxMessages: runs * 4 });
  const noop = { name: 'noop', description: '', parameters: {}, execute: async (input: unknown) => input };
  const work = Array.from({ length: runs }, (_, index) => {
    const provider = scriptedProvider([
      { toolCalls: [{ name: 'noop', arguments: { index }, id: `call-${index}` }] },
      `answer ${index}`,
    ]);
    const agent = createAgent({ name: 'a', systemPrompt: 's', provider, model: { model: 'm' }, tools: [noop], memory });
    return agent.run(`question ${index}`, { requestId: 'shared' });
  });
  expect((await Promise.all(work)).every(({ status }) => status === 'completed')).toBe(true);
  const messages = await memory.getMessages('a', 'shared');
  expect(messages).toHaveLength(runs * 4);
  expectWellPaired(messages);
  const contents = new Set(messages.map(({ content }) => content));
  for (let index = 0; index < runs; index++) {
    for (const content of [`question ${index}`, `{"index":${index}}`, `answer ${index}`]) {
      expect(contents.has(content)).toBe(true);
    }
  }
});

test.each([
  'not json',
  '7',
  '{"role":"robot","content":""}',
  '{"role":"user"}',
  '{"role":"assistant","content":"","toolCalls":[1]}',
])('an entry that is not a message (%s) is an error that names the conversation', async (entry) => {
  const transport = transportOf();
  const memory = new ConversationMemory({ transport });
  await transport.kv.append('agent-memory:["a","r"]', [entry]);
  await expect(memory.getMessages('a', 'r')).rejects.toBeInstanceOf(MemoryEntryError);
});

test.each<[string, Record<string, unknown>]>([
  ['maxMessages of ConversationMemory must be a whole number, 1 or more, got 0', { maxMessages: 0 }],
  ['ttlSeconds of ConversationMemory must be seconds above 0, at most 1000000000, got -1', { ttlSeconds: -1 }],
  [
    'option of ConversationMemory must be one of transport, maxMessages, maxTokens, compact, ttlSeconds, got "ttlMs"',
    { ttlMs: 1 },
  ],
  ['transport of ConversationMemory must be a hub.transport, got undefined', { transport: undefined }],
])('refuses: %s', (message, options) => {
  expect(() => memoryOf(options)).toThrow(InvalidOptionError);
  expect(() => memoryOf(options)).toThrow(message);
});
