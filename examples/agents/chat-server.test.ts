import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { AbstractChat, type ChatState, DefaultChatTransport, type UIMessage } from 'ai';
import { createHub } from 'hubline';
import { type AgentConfig, ConversationMemory, createAgent, createTool } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createChatServer } from './chat-server.js';

const weather = createTool({
  name: 'weather',
  description: 'Current weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: async ({ city }: { city: string }) => ({ city, celsius: 9 }),
});

/** The state that `useChat` keeps in React. */
class MessageList implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => void this.messages.push(message);
  popMessage = (): void => void this.messages.pop();
  replaceMessage = (index: number, message: UIMessage): void => void this.messages.splice(index, 1, message);
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

/** The AI SDK's own chat, which `useChat` wraps. */
class Chat extends AbstractChat<UIMessage> {}

async function started(
  provider: AgentConfig['provider'],
  userOf: () => string | undefined = () => 'ada',
  memory?: ConversationMemory,
) {
  const agent = createAgent({
    name: 'forecaster',
    systemPrompt: 'secret prompt',
    provider,
    model: { model: 'm' },
    tools: [weather],
    ...(memory && { memory }),
  });
  const server = createChatServer(agent, userOf).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
  return { api, chat: new Chat({ state: new MessageList(), transport: new DefaultChatTransport({ api }) }) };
}

test('the chat of the AI SDK shows text and tool calls, over real HTTP', async () => {
  const provider = scriptedProvider([
    { content: 'Let me see.', toolCalls: [{ name: 'weather', arguments: { city: 'Bergen' } }] },
    { content: ['It is ', 'nine degrees.'] },
  ]);
  const { chat } = await started(provider);
  await chat.sendMessage({ text: 'How warm is it in Bergen?' });
  expect(chat.error).toBeUndefined();
  expect(chat.status).toBe('ready');
  expect(chat.lastMessage?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'Let me see.', state: 'done' },
    { type: 'dynamic-tool', toolName: 'weather', input: { city: 'Bergen' }, output: { city: 'Bergen', celsius: 9 } },
    { type: 'step-start' },
    { type: 'text', text: 'It is nine degrees.', state: 'done' },
  ]);
  expect(JSON.stringify(chat.messages)).not.toContain('secret prompt');
});

test('stopping the chat aborts the run', async () => {
  let signal: AbortSignal | undefined;
  const { chat } = await started({
    chat: (_, options) => {
      signal = options.signal;
      return new Promise(() => {});
    },
  });
  const sent = chat.sendMessage({ text: 'Hello?' });
  await vi.waitFor(() => expect(signal).toBeDefined());
  await chat.stop();
  await sent;
  await vi.waitFor(() => expect(signal?.aborted).toBe(true));
});

test('a failed run is an error of the chat, without its reason', async () => {
  const { chat } = await started(scriptedProvider([new Error('key sk-1 rejected')]));
  await chat.sendMessage({ text: 'Hello?' });
  expect(chat.status).toBe('error');
  expect(chat.error?.message).toBe('An error occurred.');
});

test('requests that are no chat are refused', async () => {
  const { api } = await started(scriptedProvider([]));
  expect((await fetch(api)).status).toBe(404);
  expect((await fetch(api, { method: 'POST', body: '{' })).status).toBe(400);
  expect((await fetch(api, { method: 'POST', body: '{"id":"1","messages":[]}' })).status).toBe(400);
  const stranger = await started(scriptedProvider([]), () => undefined);
  expect((await fetch(stranger.api, { method: 'POST' })).status).toBe(401);
});

test('regenerate replaces the answer in the conversation as well', async () => {
  const hub = createHub();
  await hub.start();
  onTestFinished(async () => void (await hub.stop()));
  const memory = new ConversationMemory({ transport: hub.transport });
  const { chat } = await started(scriptedProvider(['Seven degrees.', 'Nine degrees.']), () => 'ada', memory);
  await chat.sendMessage({ text: 'How warm is it in Bergen?' });
  await chat.regenerate();
  expect(chat.lastMessage?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'Nine degrees.' }]);
  const stored = await memory.getMessages('forecaster', JSON.stringify(['ada', chat.id]));
  expect(stored.map(({ content }) => content)).toEqual(['How warm is it in Bergen?', 'Nine degrees.']);
});
