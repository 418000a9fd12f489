import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { InvalidOptionError } from '../../errors.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from './tool.js';

const schema = z
  .object({ city: z.string().min(2), days: z.coerce.number().max(7).default(3) })
  .refine(({ city }) => city !== 'Atlantis', { message: 'is not on the map', path: ['city'] });

test('a tool with a schema offers its JSON Schema, and executes with what the schema returns', async () => {
  const execute = vi.fn(({ city, days }: z.output<typeof schema>) => `${city}: ${days}`);
  const tool = createTool({ name: 'forecast', description: 'd', parameters: schema, execute });
  expect(tool.parameters).toEqual({
    type: 'object',
    properties: { city: { type: 'string', minLength: 2 }, days: { type: 'number', maximum: 7, default: 3 } },
    required: ['city'],
  });
  const warn = vi.fn();
  const logger = { debug: vi.fn(), info: vi.fn(), error: vi.fn(), warn };
  const call = (value: unknown) => ({ toolCalls: [{ name: 'forecast', arguments: value }] });
  const script = [call({ city: 'Bergen' }), call({ city: 'B' }), call({ city: 'Atlantis' }), 'Rain'];
  const { agent, provider } = agentOf(script, { tools: [tool], logger });
  const { toolCalls, output } = await agent.run('x');
  expect(output).toBe('Rain');
  expect(execute.mock.calls.map(([input]) => input)).toEqual([{ city: 'Bergen', days: 3 }]);
  expect(toolCalls).toMatchObject([
    { result: 'Bergen: 3' },
    { error: expect.stringContaining('arguments.city must NOT have fewer than 2 characters') },
    { error: 'the arguments of forecast do not match its parameters: arguments.city is not on the map' },
  ]);
  expect(provider.calls[0]?.options.tools?.[0]?.parameters).toEqual(tool.parameters);
  expect(warn).not.toHaveBeenCalled();
});

test('a schema without conversion needs its JSON Schema beside it', async () => {
  const parameters: StandardSchemaV1<unknown, { upper: string }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => ({ value: { upper: JSON.stringify(value).toUpperCase() } }),
    },
  };
  const options = { name: 't', description: '', parameters, execute: ({ upper }: { upper: string }) => upper };
  const tool = createTool({ ...options, jsonSchema: { type: 'object' } });
  expect(tool.parameters).toEqual({ type: 'object' });
  const { agent } = agentOf([{ toolCalls: [{ name: 't', arguments: { a: 1 } }] }, 'ok'], { tools: [tool] });
  expect((await agent.run('x')).toolCalls).toMatchObject([{ result: '{"A":1}' }]);
  // Wrong on purpose: the compiler rejects it.
  const incomplete = options as unknown as Parameters<typeof createTool>[0];
  expect(() => createTool(incomplete)).toThrow(InvalidOptionError);
  expect(() => createTool(incomplete)).toThrow('jsonSchema of tool "t" must be the JSON Schema of parameters');
});

test('a synchronous tool with a schema becomes asynchronous, and reads its own fields', async () => {
  const counter = {
    name: 'count',
    description: '',
    parameters: z.object({}),
    calls: 0,
    execute() {
      this.calls += 1;
      if (this.calls > 1) throw new Error('twice');
      return this.calls;
    },
  };
  const tool = createTool(counter);
  const ctx = expect.anything();
  await expect(tool.execute({}, ctx)).resolves.toBe(1);
  await expect(tool.execute({}, ctx)).rejects.toThrow('twice');
});

test.each([
  '{"__proto__":{"polluted":1},"a":1}',
  '{"constructor":{"prototype":{"polluted":1}},"a":1}',
  '{"deep":[{"\\u0063onstructor":{"prototype":{"polluted":1}}}]}',
])('arguments with keys that could reach a prototype are refused: %s', async (text) => {
  const execute = vi.fn();
  for (const parameters of [{ type: 'object' }, z.looseObject({})]) {
    const tool = createTool({ name: 't', description: '', execute, ...{ parameters } } as Parameters<
      typeof createTool
    >[0]);
    const { agent } = agentOf([{ toolCalls: [{ name: 't', arguments: text }] }, 'ok'], { tools: [tool] });
    const { toolCalls } = await agent.run('x');
    expect(toolCalls).toMatchObject([{ error: expect.stringContaining('is not allowed') }]);
  }
  expect(execute).not.toHaveBeenCalled();
});

test('a constructor that is not a prototype is a key like others', async () => {
  const execute = vi.fn(async (input: object) => JSON.stringify(input));
  const tool = createTool({ name: 't', description: '', parameters: { type: 'object' }, execute });
  const { agent } = agentOf([{ toolCalls: [{ name: 't', arguments: { constructor: 'Ada' } }] }, 'ok'], {
    tools: [tool],
  });
  expect((await agent.run('x')).toolCalls).toMatchObject([{ result: '{"constructor":"Ada"}' }]);
});
