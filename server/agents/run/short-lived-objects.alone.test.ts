import { expect, test } from 'vitest';
import { bytesLeft } from '../../hub/bytes-left.fixture.js';
import { createAgent } from '../create-agent.js';
import type { ModelProvider } from '../model/model-provider.js';
import { createTool } from '../tools/tool.js';

const turns = 5;
const repetitions = 100;
const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
const provider: ModelProvider = {
  async chat(messages, { signal }) {
    signal?.throwIfAborted();
    const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
    if (turn === turns) return { content: 'done', usage, finishReason: 'stop' };
    const toolCalls = [{ id: `call ${turn}`, name: 'work', arguments: `{"turn":${turn}}` }];
    return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
  },
};
/** Bytes of a tool's result, in each turn but the last. */
const resultBytes = 8_000;
const execute = async () => Array.from({ length: resultBytes / 8 }, (_, index) => index);
const work = createTool({ name: 'work', description: '', parameters: { type: 'object' }, execute });
const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, tools: [work] });

test('a run that has ended leaves none of its results', async () => {
  const { signal } = new AbortController();
  // About 3,000; with signals that `AbortSignal.any` combines, 19,000.
  expect(await bytesLeft(() => agent.run('x', { signal }), repetitions)).toBeLessThan(resultBytes * 1.5);
});

test('a stream that was read leaves none of its results', async () => {
  const read = async (): Promise<void> => {
    for await (const _event of agent.stream('x'));
  };
  // About 7,000; with a generator function per stream, 60,000.
  expect(await bytesLeft(read, repetitions)).toBeLessThan(resultBytes * 2);
});
