import { expect, test } from 'vitest';
import { silentLogger } from '../../transports/logger.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { createAgent } from '../create-agent.js';
import { InvalidAnswerError } from '../errors.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import type { ModelProvider, ModelResponse, ModelStreamChunk } from './model-provider.js';
import { CutStreamError } from './provider-error.js';

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
const good: ModelResponse = { content: 'fine', usage, finishReason: 'stop' };

/** A provider of one's own, written without types. */
function providerOf(answers: readonly unknown[]): ModelProvider {
  const left = [...answers];
  // Wrong on purpose: what the compiler would not let through.
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
  ['providerMetadata that is an object, got "signature"', { ...good, providerMetadata: 'signature' }],
])('a run whose provider answers without %s says so, and its conversation goes on', async (expected, answer) => {
  const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
  const agent = agentOf(providerOf([answer, good]), new ConversationMemory({ transport }));
  const failed = await agent.run('x', { requestId: 'r' });
  expect(failed.error).toBeInstanceOf(InvalidAnswerError);
  expect(failed.error?.message).toContain(expected);
  expect(await agent.run('x', { requestId: 'r' })).toMatchObject({ status: 'completed', output: 'fine' });
});

test.each([
  ['chunks that are objects, got null', [{ content: 'fi' }, null]],
  ['content that is a string, got an object', [{ content: {} }, { finishReason: 'stop' }]],
])('a stream of something other than %s fails the run', async (expected, chunks) => {
  const { error } = await agentOf(streaming(chunks)).stream('x').result;
  expect(error).toBeInstanceOf(InvalidAnswerError);
  expect(error?.message).toContain(expected);
});

test('a null is no finish, so that a stream that was cut is seen to be', async () => {
  const { error } = await agentOf(streaming([{ content: 'fi', finishReason: null }])).stream('x').result;
  expect(error).toBeInstanceOf(CutStreamError);
});
