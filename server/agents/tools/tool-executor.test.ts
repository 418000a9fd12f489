import { describe, expect, test, vi } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { AbortableWaits } from '../abortable.js';
import { type AgentContext, createAgentContext } from '../agent/agent-context.js';
import { createAgent } from '../create-agent.js';
import { ToolTimeoutError } from '../errors.js';
import { TokenLedger } from '../model/token-ledger.js';
import type { Tool } from './tool.js';
import { ToolExecutor } from './tool-executor.js';
import { ToolRegistry } from './tool-registry.js';

const ctx = createAgentContext({
  agentName: 'a',
  runId: 'r',
  lineage: {
    chain: ['a'],
    limits: undefined,
    exchangeId: 'e',
    ledger: new TokenLedger(),
    delegate: () => Promise.reject(new Error('unused')),
  },
  payload: undefined,
  signal: undefined,
  hubCtx: undefined,
});

const tool = (execute: Tool['execute'], more: Partial<Tool> = {}): Tool => ({
  name: 'paint',
  description: 'Paints',
  parameters: {
    type: 'object',
    properties: { colour: { enum: ['red', 'green'] }, coats: { type: 'integer' } },
    additionalProperties: false,
  },
  execute,
  ...more,
});

function executorOf(tools: readonly Tool[], options?: ConstructorParameters<typeof ToolExecutor>[1]): ToolExecutor {
  const registry = new ToolRegistry();
  for (const each of tools) registry.register(each);
  return new ToolExecutor(registry, options);
}

async function executeOne(execute: Tool['execute'], text: string, name = 'paint') {
  const call = { id: '1', name, arguments: text };
  return executorOf([tool(execute)]).execute(call, ctx, new AbortableWaits(undefined), 1);
}

describe('arguments', () => {
  test.each([
    ['', {}],
    ['  \n', {}],
    ['{}', {}],
    ['{"colour":"red"}', { colour: 'red' }],
  ])('%j reach the tool as %j', async (text, input) => {
    const execute = vi.fn(async () => 'done');
    await executeOne(execute, text);
    expect(execute).toHaveBeenCalledWith(input, expect.objectContaining({ agentName: 'a', runId: 'r' }));
  });

  test.each([
    ['{"colour":', 'the arguments of paint are not JSON'],
    ['{"colour":"blue"}', 'arguments.colour must be one of ["red","green"]'],
    ['{"coats":1.5}', 'arguments.coats must be integer'],
    ['{"size":1}', 'arguments must not have the property "size"'],
    ['[]', 'arguments must be object'],
    ['null', 'arguments must be object'],
    ['{"__proto__":{"admin":true}}', 'the key "__proto__" is not allowed'],
    ['{"a":[{"\\u005f_proto__":{}}]}', 'the key "__proto__" is not allowed'],
  ])('%j are returned to the model as an error', async (text, expected) => {
    const execute = vi.fn(async () => 'done');
    const { result, content } = await executeOne(execute, text);
    expect(execute).not.toHaveBeenCalled();
    expect(result).toMatchObject({ toolCallId: '1', name: 'paint', result: null });
    expect(result?.error).toContain(expected);
    expect(content).toBe(`Error: ${result?.error}`);
  });
});

test.each(['sing', 'constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'the error of a call of %s, which is not a tool, lists the tools',
  async (name) => {
    const { result } = await executeOne(async () => 'done', '{}', name);
    expect(result?.error).toBe(`there is no tool "${name}"; available: paint`);
  },
);

test('a schema is compiled once per tool, however many agents and runs use it', async () => {
  let reads = 0;
  const parameters = {
    type: 'object',
    get properties() {
      reads++;
      return {};
    },
  };
  const shared = tool(async () => 'done', { parameters });
  await executorOf([shared]).executeAll([{ id: '1', name: 'paint', arguments: '' }], ctx);
  const readsToCompile = reads;
  const executor = executorOf([shared]);
  for (const id of ['2', '3']) await executor.executeAll([{ id, name: 'paint', arguments: '' }], ctx);
  expect(readsToCompile).toBeGreaterThan(0);
  expect(reads).toBe(readsToCompile);
});

describe('a result', () => {
  test.each<[string, unknown, string]>([
    ['a string unchanged', 'red', 'red'],
    ['an object as JSON', { a: [1] }, '{"a":[1]}'],
    ['undefined as null', undefined, 'null'],
    ['a function as null', () => {}, 'null'],
    ['a bigint as a string', { n: 10n }, '{"n":"10"}'],
    ['a bare bigint as a string', 10n, '"10"'],
  ])('reaches the model: %s', async (_, value, expected) => {
    const { result, content } = await executeOne(async () => value, '{}');
    expect(content).toBe(expected);
    expect(result?.result).toBe(value);
    expect(result?.error).toBeUndefined();
  });

  test('that is circular is an error, and the result contains the raw value', async () => {
    const value: Record<string, unknown> = {};
    value['self'] = value;
    const { result, content } = await executeOne(async () => value, '{}');
    expect(result?.result).toBe(value);
    expect(result?.error).toContain('the result of "paint" cannot be converted to JSON');
    expect(content).toContain('Error: ');
  });

  test.each<[string, Tool['execute']]>([
    [
      'rejects',
      async () => {
        throw new Error('out of paint');
      },
    ],
    [
      'throws',
      () => {
        throw new Error('out of paint');
      },
    ],
  ])('of a tool that %s is an error', async (_, execute) => {
    const { result, content } = await executeOne(execute, '{}');
    expect(result).toMatchObject({ result: null, error: 'out of paint' });
    expect(content).toBe('Error: out of paint');
  });

  test('of a tool whose error has no message is still an error', async () => {
    const { result } = await executeOne(() => Promise.reject(new TypeError()), '{}');
    expect(result?.error).toBe('TypeError');
  });
});

describe('calls of one turn', () => {
  const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'paint', arguments: '{}' }));

  function gated() {
    const release: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const execute = async (): Promise<number> => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => release.push(resolve));
      return running--;
    };
    return { execute, release, most: () => most };
  }

  test('run in parallel, with their results in the order of the calls', async () => {
    const { execute, release, most } = gated();
    const results = executorOf([tool(execute)]).executeAll(calls, ctx);
    await vi.waitFor(() => expect(release).toHaveLength(3));
    for (const index of [2, 0, 1]) release[index]?.();
    expect((await results).map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b', 'c']);
    expect(most()).toBe(3);
  });

  test('run no more than maxParallelToolCalls at once', async () => {
    const { execute, release, most } = gated();
    const provider = scriptedProvider([{ toolCalls: calls.map(({ name }) => ({ name })) }, 'done']);
    const agent = createAgent({
      name: 'a',
      systemPrompt: '',
      provider,
      model: { model: 'm' },
      tools: [tool(execute)],
      maxParallelToolCalls: 2,
    });
    const run = agent.run('x');
    await vi.waitFor(() => expect(release).toHaveLength(2));
    release[0]?.();
    await vi.waitFor(() => expect(release).toHaveLength(3));
    for (const go of release) go();
    expect((await run).status).toBe('completed');
    expect(most()).toBe(2);
  });

  test('are independent of each other’s failures', async () => {
    let count = 0;
    const execute = async (): Promise<number> => {
      if (++count === 2) throw new Error('no');
      return count;
    };
    const results = await executorOf([tool(execute)]).executeAll(calls, ctx);
    expect(results.map(({ error }) => error)).toEqual([undefined, 'no', undefined]);
  });
});

describe('timeoutMs', () => {
  test('fails the call and aborts its signal', async () => {
    const clock = createFakeClock();
    let signal: AbortSignal | undefined;
    const execute = (_: unknown, own: AgentContext): Promise<never> => {
      signal = own.signal;
      return new Promise(() => {});
    };
    const results = executorOf([tool(execute, { timeoutMs: 50 })], { clock }).executeAll(
      [{ id: '1', name: 'paint', arguments: '' }],
      ctx,
    );
    await clock.advance(49);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    expect(await results).toMatchObject([
      { result: null, error: expect.stringContaining('took longer than its timeoutMs (50 ms)'), durationMs: 50 },
    ]);
    expect(signal?.reason).toBeInstanceOf(ToolTimeoutError);
  });

  test('leaves no timer after a call that ends in time', async () => {
    const clock = createFakeClock();
    const executor = executorOf([tool(async () => 'done', { timeoutMs: 50 })], { clock });
    expect(await executor.executeAll([{ id: '1', name: 'paint', arguments: '' }], ctx)).toMatchObject([
      { result: 'done' },
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('keeps the run’s own signal effective', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const execute = (): Promise<never> => new Promise(() => {});
    const results = executorOf([tool(execute, { timeoutMs: 50 })], { clock }).executeAll(
      [{ id: '1', name: 'paint', arguments: '' }],
      { ...ctx, signal: controller.signal },
    );
    controller.abort(new Error('enough'));
    expect(await results).toMatchObject([{ error: 'interrupted: enough; the call may or may not have been executed' }]);
  });
});
