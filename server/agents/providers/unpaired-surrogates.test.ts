import { LLMock } from '@copilotkit/aimock';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import { wellFormed } from '../model/foreign-values.js';
import type { Tool } from '../tools/tool.js';
import { vendors } from './vendors.fixture.js';
import { record } from './wire.fixture.js';

/** Half of a surrogate pair. `JSON.stringify` escapes it, and vendors refuse the escape. */
const half = '\ud83d';
const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 };

/** Returns the unpaired surrogates in a value. An escape in the text of a value, such as that of JSON, is none. */
const halvesIn = (value: unknown): readonly string[] =>
  JSON.stringify(value).match(/(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/g) ?? [];

const tool = (name: string, execute: () => Promise<unknown>): Tool => ({
  name,
  description: `Returns ${half}`,
  parameters: { type: 'object', properties: { key: { type: 'string', description: half } } },
  execute,
});
const tools = [
  tool('text', async () => `cut ${half}`),
  tool('value', async () => ({ [half]: [half] })),
  tool('failing', () => Promise.reject(new Error(`cut ${half}`))),
];

test.each(vendors)('$name: nothing that is sent or stored has an unpaired surrogate', async (vendor) => {
  const mock = await LLMock.create({ port: 0, strict: true });
  const wire = await record(mock.url);
  onTestFinished(async () => {
    await wire.close();
    await mock.stop();
  });
  const requested = tools.map(({ name }) => ({ name, arguments: { a: half, [half]: [half] } }));
  mock.on({ userMessage: /first/, turnIndex: 0 }, { content: `I call ${half}`, toolCalls: requested, usage });
  mock.on({ userMessage: /first/, turnIndex: 1 }, { content: `"Done ${half}"`, usage });
  mock.on({ userMessage: /second/ }, { content: '"Again"', usage });
  const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
  const memory = new ConversationMemory({ transport });
  // Stored by an earlier version.
  await memory.addMessage('a', 'c', { role: 'user', content: `Before ${half}` });
  const agent = createAgent({
    name: 'a',
    systemPrompt: `Be brief ${half}.`,
    provider: vendor.create({ apiKey: 'sk-very-secret-0123456789', baseUrl: `${wire.url}${vendor.basePath}` }),
    model: { model: vendor.model },
    tools,
    memory,
    outputSchema: z.string().describe(half),
  });
  for (const input of [`first ${half}`, `second ${half}`]) {
    const { status, error } = await agent.run(input, { conversationId: 'c' });
    expect({ status, error }).toEqual({ status: 'completed' });
  }
  expect(wire.requests).toHaveLength(3);
  expect(wire.requests.flatMap(({ body }) => halvesIn(body))).toEqual([]);
  const [, ...stored] = await memory.getMessages('a', 'c');
  expect(stored.length).toBeGreaterThan(6);
  expect(halvesIn(stored)).toEqual([]);
});

test('any JSON becomes well-formed, and changes in nothing else', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), text, (value, part) => {
      const whole = { value, list: [part, { [part]: part }] };
      expect(halvesIn(wellFormed(whole))).toEqual([]);
      if (halvesIn(whole).length === 0) expect(wellFormed(whole)).toBe(whole);
    }),
  );
});

test.each(['\ud83d', 'chat \udc00'])('%j is refused as a conversationId', async (conversationId) => {
  const provider = { chat: () => Promise.reject(new Error('unused')) };
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' } });
  await expect(agent.run('x', { conversationId })).rejects.toThrow('unpaired surrogates');
});
