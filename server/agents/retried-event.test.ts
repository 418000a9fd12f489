import { describe, expect, test, vi } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import type { HandlerFunction } from '../hub/events/context.js';
import type { Hub } from '../hub/hub.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { type ScriptEntry, scriptedProvider } from '../testing/scripted-provider.js';
import type { ModelAgent } from './agent/agent.js';
import { createAgent } from './create-agent.js';
import { ConversationMemory } from './memory/conversation-memory.js';
import type { Message } from './model/message.js';
import { createDebate } from './multi-agent/create-debate.js';
import { createTool } from './tools/tool.js';

describe.each(everyTransport)('a retried event whose agent has a memory, on the %s transport', (_, transportOf) => {
  const down = new Error('model is down');
  const book = vi.fn(async (_input: unknown) => 'booked');

  /** Handles events of one conversation one after another, and resolves with the stored messages. */
  async function converse(
    script: readonly ScriptEntry[],
    questions: readonly string[],
    handlerOf: (agent: ModelAgent) => HandlerFunction = (agent) => agent.asHandler({ conversation: () => 'chat' }),
  ) {
    book.mockClear();
    const hub = createHub({ transport: transportOf() });
    const memory = new ConversationMemory({ transport: hub.transport });
    const provider = scriptedProvider(script);
    const tools = [createTool({ name: 'book', description: '', parameters: {}, execute: book })];
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, tools, memory });
    hub.event({ type: 'asked', handler: handlerOf(agent), retry: { maxAttempts: 3, initialDelayMs: 0 } });
    await hub.start();
    for (const [index, question] of questions.entries()) {
      await hub.emit('asked', question, { requestId: 'chat' });
      await completed(hub, index + 1);
    }
    const remembered = await memory.getMessages('a', 'chat');
    await hub.stop();
    provider.assertDone();
    return { remembered: textsOf(remembered), sent: provider.calls.map(({ messages }) => textsOf(messages)) };
  }

  test('stores its question once', async () => {
    const { remembered, sent } = await converse([down, down, 'Hi Ada', 'Ada'], ['I am Ada', 'Who am I?']);
    expect(sent.slice(0, 3)).toEqual([['I am Ada'], ['I am Ada'], ['I am Ada']]);
    expect(remembered).toEqual(['I am Ada', 'Hi Ada', 'Who am I?', 'Ada']);
  });

  test('stores the same question again for another event', async () => {
    const { remembered } = await converse([down, 'one', down, 'two'], ['Go on', 'Go on']);
    expect(remembered).toEqual(['Go on', 'one', 'Go on', 'two']);
  });

  test('repeats no executed call', async () => {
    const call = { toolCalls: [{ name: 'book' }] };
    const { remembered, sent } = await converse([call, down, 'Done'], ['Book it']);
    expect(book).toHaveBeenCalledTimes(1);
    expect(sent.at(-1)).toEqual(['Book it', '', 'booked']);
    expect(remembered).toEqual(['Book it', '', 'booked', 'Done']);
  });

  test('returns an answer that is stored already', async () => {
    const outputs: string[] = [];
    const { remembered } = await converse(['Done'], ['Do it'], (agent) => async (ctx) => {
      const { idempotencyKey, payload } = ctx;
      const options = { conversationId: 'chat', idempotencyKey, hubCtx: ctx };
      const { output } = await agent.run(String(payload), options);
      outputs.push(output);
      if (outputs.length === 1) throw new Error('could not pass it on');
    });
    expect(outputs).toEqual(['Done', 'Done']);
    expect(remembered).toEqual(['Do it', 'Done']);
  });

  test('resumes a debate', async () => {
    const hub = createHub({ transport: transportOf() });
    const memory = new ConversationMemory({ transport: hub.transport });
    const speaker = (name: string, script: readonly ScriptEntry[]) => {
      const provider = scriptedProvider(script);
      return { provider, agent: createAgent({ name, systemPrompt: '', provider, model: { model: 'm' }, memory }) };
    };
    const a = speaker('a', ['a1', 'a2']);
    const b = speaker('b', ['b1', down, 'b2']);
    const debate = createDebate({ name: 'd', participants: [a.agent, b.agent], maxRounds: 2 });
    const handler: HandlerFunction = async (ctx) => {
      const options = { conversationId: 'chat', idempotencyKey: ctx.idempotencyKey, hubCtx: ctx };
      const { error } = await debate.run('free delivery?', options);
      if (error !== undefined) throw error;
    };
    hub.event({ type: 'asked', handler, retry: { maxAttempts: 2, initialDelayMs: 0 } });
    await hub.start();
    await hub.emit('asked', 'free delivery?', { requestId: 'chat' });
    await completed(hub, 1);
    const remembered = textsOf(await memory.getMessages('b', 'chat'));
    await hub.stop();
    a.provider.assertDone();
    b.provider.assertDone();
    expect(remembered.filter((_text, index) => index % 2 === 1)).toEqual(['b1', 'b2']);
  });
});

async function completed(hub: Hub, count: number): Promise<void> {
  await vi.waitFor(async () => expect(await hub.metrics('asked')).toMatchObject({ completed: count }), 30_000);
}

function textsOf(messages: readonly Message[]): string[] {
  return messages.map(({ content }) => content);
}
