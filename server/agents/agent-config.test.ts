import { describe, expect, test } from 'vitest';
import { DuplicateNameError, HubError, InvalidOptionError, InvalidSchemaError } from '../errors.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import { type AgentConfig, createAgent } from './create-agent.js';
import { DuplicateAgentError, DuplicateToolError } from './errors.js';
import { createAgentRegistry } from './multi-agent/delegation.js';

const tool = { name: 't', description: '', parameters: {}, execute: async () => null };
const config: AgentConfig = { name: 'a', systemPrompt: '', provider: scriptedProvider([]), model: { model: 'm' } };

// Wrong on purpose: the compiler rejects it.
const wrong = (fields: Record<string, unknown>): AgentConfig => ({ ...config, ...fields }) as AgentConfig;

describe('createAgent refuses', () => {
  test.each<[string, Record<string, unknown>]>([
    ['name of agent "" must be a non-empty string, got ""', { name: '' }],
    ['option of agent "a" must be one of name, description, ', { maxIteration: 3 }],
    ['systemPrompt of agent "a" must be a string or a function, got undefined', { systemPrompt: undefined }],
    ['provider of agent "a" must be an object with the methods chat', { provider: {} }],
    ['model of agent "a" must be an object such as { model: "..." }, got a string', { model: 'm' }],
    ['model.model of agent "a" must be a non-empty string', { model: { model: '' } }],
    ['model.maxTokens of agent "a" must be a whole number, 1 or more, got 0', { model: { model: 'm', maxTokens: 0 } }],
    ['model.temperature of agent "a" must be a number', { model: { model: 'm', temperature: 'hot' } }],
    [
      'option of model of agent "a" must be one of model, temperature, topP, maxTokens, stop, seed, reasoning, toolChoice, ',
      { model: { model: 'm', max_tokens: 5 } },
    ],
    ['model.tools of agent "a" must be an array', { model: { model: 'm', tools: 'x' } }],
    ['model.signal of agent "a" must be omitted: ', { model: { model: 'm', signal: AbortSignal.abort() } }],
    ['clock of agent "a" must be a Clock', { clock: {} }],
    ['tools of agent "a" must be an array', { tools: {} }],
    ['memory of agent "a" must be an AgentMemory', { memory: {} }],
    ['maxIterations of agent "a" must be a whole number, 1 or more, got 0', { maxIterations: 0 }],
    ['tokenBudget of agent "a" must be a whole number, 1 or more, got -1', { tokenBudget: -1 }],
    ['maxRepeats of agent "a" must be a whole number, 2 or more, got 1', { maxRepeats: 1 }],
    ['maxParallelToolCalls of agent "a" must be', { maxParallelToolCalls: 0 }],
    ['maxDelegationDepth of agent "a" must be', { maxDelegationDepth: -1 }],
    ['finalAnswerTurn of agent "a" must be true or false', { finalAnswerTurn: 1 }],
    ['onTokenUsage of agent "a" must be a function', { onTokenUsage: 1 }],
    ['registry of agent "a" must be an AgentRegistry', { registry: {} }],
    ['retry.maxAttempts of agent "a" must be', { retry: { maxAttempts: 0 } }],
    ['name of tool "a b" must be 1 to 64 letters, digits, _ or -', { tools: [{ ...tool, name: 'a b' }] }],
    ['description of tool "t" must be a string', { tools: [{ ...tool, description: undefined }] }],
    ['parameters of tool "t" must be a JSON Schema object', { tools: [{ ...tool, parameters: [] }] }],
    ['execute of tool "t" must be a function', { tools: [{ ...tool, execute: undefined }] }],
    ['timeoutMs of tool "t" must be milliseconds, from 1 to 1000000000000', { tools: [{ ...tool, timeoutMs: 0 }] }],
  ])('%s', (message, fields) => {
    expect(() => createAgent(wrong(fields))).toThrow(InvalidOptionError);
    expect(() => createAgent(wrong(fields))).toThrow(message);
  });

  test('an invalid JSON Schema, at once', () => {
    const tools = [{ ...tool, parameters: { type: 'nonsense' } }];
    expect(() => createAgent({ ...config, tools })).toThrow(InvalidSchemaError);
  });

  test('two tools of the same name, and a tool with the name of the delegate tool', () => {
    expect(() => createAgent({ ...config, tools: [tool, tool] })).toThrow(DuplicateToolError);
    const delegate = { ...tool, name: 'delegate' };
    expect(() => createAgent({ ...config, tools: [delegate], registry: createAgentRegistry() })).toThrow(
      DuplicateToolError,
    );
    expect(() => createAgent({ ...config, tools: [delegate] })).not.toThrow();
  });
});

test('a registry contains agents with unique names', () => {
  const registry = createAgentRegistry();
  const agent = createAgent(config);
  registry.register(agent);
  expect(registry.get('a')).toBe(agent);
  expect(registry.has('a')).toBe(true);
  expect(registry.get('constructor')).toBeUndefined();
  expect(registry.has('__proto__')).toBe(false);
  expect(registry.list()).toEqual([agent]);
  expect(() => registry.register(createAgent(config))).toThrow(DuplicateAgentError);
  expect(() => registry.register({} as typeof agent)).toThrow('agent must be an agent from createAgent');
  expect(new DuplicateAgentError('a')).toBeInstanceOf(HubError);
  expect(new DuplicateAgentError('a')).not.toBeInstanceOf(DuplicateNameError);
});
