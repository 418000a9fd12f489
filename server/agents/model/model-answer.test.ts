import { expect, test } from 'vitest';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import { InvalidAnswerError } from '../errors.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import type { ModelProvider, ModelResponse, ModelStreamChunk } from './model-provider.js';
import { CutStreamError } from './provider-error.js';

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
const good: ModelResponse = { content: 'fine', usage, finishReason: 'stop' };

/** A custom provider, written without types. */
function providerOf(answers: readonly unknown[]): ModelProvider {
  const left = [...answers];
  // Wrong on purpose: the compiler rejects it.
  return { chat: async () => left.shift() as ModelResponse };
}

function streaming(chunks: readonly unknown[]): ModelProvider {
  return {
    ...providerOf([]),
    async *chatStream() {
      yield* chunks as ModelStreamChunk[];
    },
  };
}

const agentOf = (provider: ModelProvider, memory?: ConversationMemory) =>
  createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, ...(memory && { memory }) });

test.each([
  ['an object, got null', null],
  ['content that is a string, got an array', { ...good, content: [{ type: 'text', text: 'x' }] }],
  ['toolCalls that are an array, got an object', { ...good, toolCalls: {} }],
  ['a tool call with JSON text for its arguments', { ...good, toolCalls: [{ id: '1', name: 't', arguments: {} }] }],
  ['an unreadableCall that is a string, got an object', { ...good, unreadableCall: {} }],
  ['providerMetadata that is an object, got a string', { ...good, providerMetadata: 'signature' }],
])(
  'a run whose provider returns no %s fails with that message, and its conversation continues',
  async (expected, answer) => {
    const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
    const agent = agentOf(providerOf([answer, good]), new ConversationMemory({ transport }));
    const failed = await agent.run('x', { requestId: 'r' });
    expect(failed.error).toBeInstanceOf(InvalidAnswerError);
    expect(failed.error?.message).toContain(expected);
    expect(await agent.run('x', { requestId: 'r' })).toMatchObject({ status: 'completed', output: 'fine' });
  },
);

test.each([
  ['chunks that are objects, got null', [{ content: 'fi' }, null]],
  ['content that is a string, got an object', [{ content: {} }, { finishReason: 'stop' }]],
])('a stream that does not consist of %s fails the run', async (expected, chunks) => {
  const { error } = await agentOf(streaming(chunks)).stream('x').result;
  expect(error).toBeInstanceOf(InvalidAnswerError);
  expect(error?.message).toContain(expected);
});

test('a null finish reason counts as none, so an interrupted stream is an error', async () => {
  const { error } = await agentOf(streaming([{ content: 'fi', finishReason: null }])).stream('x').result;
  expect(error).toBeInstanceOf(CutStreamError);
});
