import { inspect } from 'node:util';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createHub } from '../../hub/create-hub.js';
import { type ScriptEntry, type ScriptedProvider, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import type { ModelAgent } from '../agent/agent.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { OutputSchemaError, TruncatedOutputError } from '../errors.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { add, callAdd } from '../scripted-agent.fixture.js';

const ticket = z.object({
  category: z.enum(['billing', 'delivery']),
  urgency: z.number().min(1).max(5),
  due: z.iso.date().transform((text) => Number(text.slice(0, 4))),
});
const good = '{"category":"billing","urgency":2,"due":"2031-01-01"}';
const data = { category: 'billing', urgency: 2, due: 2031 };

function classifierOf<TData = z.output<typeof ticket>>(
  script: readonly ScriptEntry[],
  config: Partial<AgentConfig<TData>> = {},
  jsonMode = true,
): { agent: ModelAgent<TData>; provider: ScriptedProvider } {
  const provider = scriptedProvider(script, { jsonMode });
  const agent = createAgent<TData>({
    name: 'classifier',
    systemPrompt: 'You classify.',
    provider,
    model: { model: 'm' },
    // The default of the type parameter belongs to this schema.
    outputSchema: ticket as unknown as StandardSchemaV1<unknown, TData>,
    ...config,
  });
  return { agent, provider };
}

describe.each(['run', 'stream'] as const)('%s', (how) => {
  const run = (agent: ModelAgent, input = 'x') => (how === 'run' ? agent.run(input) : agent.stream(input).result);

  test('returns the validated value of the answer beside its text', async () => {
    const { agent, provider } = classifierOf([callAdd(1, 2), good], { tools: [add] });
    expect(await run(agent)).toMatchObject({ status: 'completed', output: good, data });
    for (const { options, messages } of provider.calls) {
      expect(messages[0]?.content).toBe('You classify.');
      expect(options.responseFormat).toEqual({
        type: 'json',
        schema: expect.objectContaining({ additionalProperties: false, required: ['category', 'urgency', 'due'] }),
      });
    }
  });

  test('asks the model to correct its answer, and names the problems', async () => {
    const wrong = '{"category":"weather","urgency":9,"due":"2031-01-01"}';
    const { agent, provider } = classifierOf(['Billing, I think', wrong, good]);
    const result = await run(agent);
    expect(result).toMatchObject({ status: 'completed', output: good, data });
    const notes = provider.calls.map(({ messages }) => messages.at(-1)?.content);
    expect(notes[1]).toBe(
      'Your answer does not match the required JSON Schema: answer: is not JSON. Answer again, with the complete JSON only.',
    );
    expect(notes[2]).toContain('answer.category: Invalid option');
    expect(notes[2]).toContain('answer.urgency: Too big');
    expect(result.tokenUsage.totalTokens).toBe(45);
  });

  test('fails after outputRetries corrections, without quoting the answer', async () => {
    const { agent, provider } = classifierOf(['secret-1', '{"secret-2":1}', 'never'], { outputRetries: 1 });
    const { status, error, data: none, output } = await run(agent);
    expect({ status, none, output }).toEqual({ status: 'failed', none: undefined, output: '{"secret-2":1}' });
    expect(error).toBeInstanceOf(OutputSchemaError);
    expect(error).toMatchObject({
      fatal: true,
      issues: expect.arrayContaining([expect.objectContaining({ path: 'answer.category' })]),
    });
    expect(inspect(error)).not.toContain('secret');
    expect(provider.calls).toHaveLength(2);
  });

  test('corrects twice by default', async () => {
    const { agent, provider } = classifierOf(['no', 'no', 'no', good]);
    expect((await run(agent)).error).toBeInstanceOf(OutputSchemaError);
    expect(provider.calls).toHaveLength(3);
  });

  test('fails if the answer reached the token limit, without a correction', async () => {
    const { agent, provider } = classifierOf([{ content: good.slice(0, 20), finishReason: 'length' }]);
    expect((await run(agent)).error).toBeInstanceOf(TruncatedOutputError);
    expect(provider.calls).toHaveLength(1);
  });

  test('describes the schema to a model without a JSON mode, and finds the JSON in its text', async () => {
    const answers = [`Sure:\n\`\`\`json\n${good}\n\`\`\`\nAnything else?`, `It is ${good}, I think`, good];
    for (const answer of answers) {
      const { agent, provider } = classifierOf([answer], {}, false);
      expect(await run(agent)).toMatchObject({ status: 'completed', output: answer, data });
      expect(provider.calls[0]?.messages[0]?.content).toMatch(
        /^You classify\.\n\nAnswer with JSON only, without Markdown, that matches this JSON Schema:\n\{.*"urgency"/,
      );
    }
  });

  test('a schema that is not an object is wrapped for the vendor and unwrapped', async () => {
    const schema = z.array(z.string());
    for (const answer of ['{"value":["a","b"]}', '["a","b"]']) {
      const { agent, provider } = classifierOf<string[]>([answer], { outputSchema: schema });
      expect((await run(agent)).data).toEqual(['a', 'b']);
      expect(provider.calls[0]?.options.responseFormat?.schema).toEqual({
        type: 'object',
        properties: { value: { $ref: '#/$defs/value' } },
        required: ['value'],
        additionalProperties: false,
        $defs: { value: { type: 'array', items: { type: 'string' } } },
      });
    }
  });

  test('corrections count as turns and tokens', async () => {
    const turns = classifierOf(['no', 'no', good], { maxIterations: 2 });
    expect(await run(turns.agent)).toMatchObject({ status: 'max_iterations', output: 'no' });
    const final = classifierOf(['no', good], { maxIterations: 1, finalAnswerTurn: true });
    expect(await run(final.agent)).toMatchObject({ status: 'max_iterations', data });
    const tokens = classifierOf(['no', 'no', good], { tokenBudget: 14 });
    const spent = await run(tokens.agent);
    expect(spent).toMatchObject({ status: 'token_budget_exceeded' });
    expect(spent).not.toHaveProperty('data');
  });
});

test('an event receives the data, which onSuccess passes on', async () => {
  const { agent } = classifierOf([good]);
  const hub = createHub();
  const received: unknown[] = [];
  hub.event({ type: 'opened', handler: agent.asHandler(), onSuccess: 'classified' });
  hub.event({ type: 'classified', handler: ({ payload }) => received.push(payload) });
  await hub.start();
  await hub.emit('opened', 'x');
  await vi.waitFor(() => expect(received).toEqual([expect.objectContaining({ output: good, data })]));
  await hub.stop();
});

test.each<[string, ScriptEntry]>([
  ['does not match its schema', 'no'],
  ['is cut', { content: '{', finishReason: 'length' }],
])('an event is not retried if the answer %s', async (_, answer) => {
  const { agent, provider } = classifierOf([answer], { outputRetries: 0 });
  const hub = createHub({ logger: silentLogger });
  hub.event({ type: 'opened', handler: agent.asHandler(), retry: { maxAttempts: 3, initialDelayMs: 0 } });
  await hub.start();
  await hub.emit('opened', 'x');
  await vi.waitFor(async () => expect(await hub.metrics('opened')).toMatchObject({ failed: 1 }));
  await hub.stop();
  expect(provider.calls).toHaveLength(1);
});

test('an attempt that finds the answer stored returns its data, and corrections are not stored', async () => {
  const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
  const memory = new ConversationMemory({ transport });
  const options = { conversationId: 'c', idempotencyKey: 'k' };
  await classifierOf(['no', good], { memory }).agent.run('x', options);
  const stored = await memory.getMessages('classifier', 'c');
  expect(stored.map(({ content }) => content)).toEqual(['x', 'no', good]);
  const again = classifierOf([], { memory });
  expect(await again.agent.run('x', options)).toMatchObject({ status: 'completed', output: good, data });
  const outputSchema = z.object({ other: z.string() });
  const changed = classifierOf<{ other: string }>([], { memory, outputSchema });
  expect((await changed.agent.run('x', options)).error).toBeInstanceOf(OutputSchemaError);
});

test('a delegate answers with its JSON', async () => {
  const registry = createAgentRegistry();
  registry.register(classifierOf([good]).agent);
  const call = { toolCalls: [{ name: 'delegate', arguments: { agentName: 'classifier', input: 'x' } }] };
  const provider = scriptedProvider([call, 'done']);
  const root = createAgent({ name: 'root', systemPrompt: '', provider, model: { model: 'm' }, registry });
  expect((await root.run('x')).toolCalls).toMatchObject([{ result: good }]);
});

test('a schema that its library cannot convert needs its JSON Schema', async () => {
  const outputSchema: StandardSchemaV1<unknown, number> = {
    '~standard': { version: 1, vendor: 'v', validate: (value) => ({ value: Object.keys(Object(value)).length }) },
  };
  expect(() => classifierOf<number>([], { outputSchema })).toThrow(
    'outputJsonSchema of outputSchema of agent "classifier" must be',
  );
  const outputJsonSchema = { type: 'object' };
  const { agent } = classifierOf<number>(['{"a":1}'], { outputSchema, outputJsonSchema });
  expect((await agent.run('x')).data).toBe(1);
});

test.each<[string, Partial<AgentConfig>, string]>([
  [
    'a number',
    { outputSchema: 5 as never },
    'schema of outputSchema of agent "a" must be a Standard Schema or a JSON Schema',
  ],
  [
    'retries without a schema',
    { outputRetries: 1 },
    'outputRetries of agent "a" must be omitted without an outputSchema',
  ],
  [
    'negative retries',
    { outputSchema: ticket, outputRetries: -1 },
    'outputRetries of agent "a" must be a whole number, 0 or more',
  ],
  [
    'a format of the model',
    { model: { model: 'm', responseFormat: { type: 'json', schema: {} } } },
    'model.responseFormat of agent "a" must be omitted',
  ],
])('%s is refused', (_, config, message) => {
  const provider = scriptedProvider([]);
  expect(() => createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, ...config })).toThrow(
    message,
  );
});
