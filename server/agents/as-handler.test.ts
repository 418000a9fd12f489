import { describe, expect, test, vi } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import { handlerInfo } from '../hub/events/reported-agents.js';
import { type ScriptEntry, scriptedProvider } from '../testing/scripted-provider.js';
import type { AgentHandlerOptions } from './agent/agent.js';
import type { AgentContext } from './agent/agent-context.js';
import { type AgentConfig, createAgent } from './create-agent.js';
import { EmitOutsideHubError } from './errors.js';
import { ConversationMemory } from './memory/conversation-memory.js';
import { createAgentRegistry } from './multi-agent/delegation.js';
import { createTool } from './tools/tool.js';

function agentOf(script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}) {
  const provider = scriptedProvider(script);
  return { agent: createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, ...config }), provider };
}

/** Handles one event on a real hub, and resolves with the payloads of its follow-ups. */
async function handle(agent: ReturnType<typeof agentOf>['agent'], payload: unknown, maxAttempts = 1) {
  const hub = createHub();
  let finish: (event: { type: string; payload: unknown }) => void = () => {};
  const finished = new Promise<{ type: string; payload: unknown }>((resolve) => {
    finish = resolve;
  });
  for (const type of ['done', 'broken']) {
    hub.event({ type, handler: ({ payload: followUp }) => finish({ type, payload: followUp }) });
  }
  hub.event({
    type: 'ask',
    handler: agent.asHandler(),
    onSuccess: 'done',
    onFailure: 'broken',
    retry: { maxAttempts, initialDelayMs: 0 },
  });
  await hub.start();
  await hub.emit('ask', payload, { requestId: 'req' });
  const followUp = await finished;
  const metrics = await hub.metrics('ask');
  await hub.stop();
  return { ...followUp, metrics };
}

describe('the input', () => {
  test.each([
    ['a string payload unchanged', 'hello', 'hello'],
    ['payload.input', { input: 'hello', more: 1 }, 'hello'],
    ['the JSON of any other payload', { input: 7 }, '{"input":7}'],
    ['the JSON of a list', [1, 2], '[1,2]'],
    ['the JSON of null', null, 'null'],
  ])('is %s', async (_, payload, input) => {
    const { agent, provider } = agentOf(['ok']);
    await handle(agent, payload);
    expect(provider.calls[0]?.messages).toEqual([{ role: 'user', content: input }]);
  });
});

test('the payload of onSuccess is a small result, without transcript, arguments and values of tools', async () => {
  const odd = { name: 'odd', description: '', parameters: {}, execute: async () => ({ n: 10n, at: new Date(0) }) };
  const nothing = { ...odd, name: 'nothing', execute: async () => undefined };
  const circle: { around?: unknown } = {};
  circle.around = circle;
  const circular = { ...odd, name: 'circular', execute: async () => circle };
  const tools = [odd, nothing, circular];
  const { agent } = agentOf([{ toolCalls: tools.map(({ name }) => ({ name })) }, 'ok'], { tools });
  const durationMs = expect.any(Number);
  expect(await handle(agent, 'x')).toMatchObject({ type: 'done', metrics: { completed: 1, failed: 0 } });
  const again = agentOf([{ toolCalls: tools.map(({ name }) => ({ name })) }, 'ok'], { tools });
  expect((await handle(again.agent, 'x')).payload).toEqual({
    agentName: 'a',
    runId: expect.any(String),
    status: 'completed',
    output: 'ok',
    tokenUsage: { promptTokens: 20, completionTokens: 10, totalTokens: 30 },
    toolCalls: [
      { name: 'odd', durationMs },
      { name: 'nothing', durationMs },
      { name: 'circular', error: expect.stringContaining('circular'), durationMs },
    ],
  });
});

test('a failed run fails the event, which is retried', async () => {
  const { agent, provider } = agentOf([new Error('down'), new Error('down')]);
  expect(await handle(agent, 'x', 2)).toMatchObject({
    type: 'broken',
    payload: {
      error: { name: 'AgentRunError', code: 'ERR_AGENT_RUN', message: 'agent "a" ended with status failed: down' },
    },
    metrics: { completed: 0, failed: 1, retried: 1 },
  });
  provider.assertDone();
});

test.each<[string, Partial<AgentConfig>]>([
  ['max_iterations', { maxIterations: 1 }],
  ['token_budget_exceeded', { tokenBudget: 12 }],
])('%s is fatal: the event is not retried', async (status, config) => {
  const noop = { name: 'noop', description: '', parameters: {}, execute: async () => null };
  const { agent, provider } = agentOf([{ toolCalls: [{ name: 'noop' }] }], { tools: [noop], ...config });
  const { type, payload, metrics } = await handle(agent, 'x', 3);
  expect({ type, metrics }).toMatchObject({ type: 'broken', metrics: { failed: 1, retried: 0 } });
  expect(payload).toMatchObject({ error: { message: expect.stringContaining(`ended with status ${status}`) } });
  expect(provider.calls.length).toBeLessThanOrEqual(1);
});

test('tools receive the context of the event, and can emit', async () => {
  let seen: AgentContext | undefined;
  const look = createTool({
    name: 'look',
    description: '',
    parameters: {},
    execute: async (_: unknown, ctx) => {
      seen = ctx;
      await ctx.emit('done', 'from a tool');
    },
  });
  const { agent } = agentOf([{ toolCalls: [{ name: 'look' }] }, 'ok'], { tools: [look] });
  expect(await handle(agent, { input: 'x' })).toMatchObject({ type: 'done', payload: 'from a tool' });
  expect(seen).toMatchObject({
    eventType: 'ask',
    requestId: 'req',
    runId: seen?.eventId,
    agentName: 'a',
    payload: { input: 'x' },
    attempt: 1,
    depth: 0,
    tokenUsage: { totalTokens: 30 },
  });
});

test('outside a hub, tools receive a context with the fields of the run', async () => {
  let seen: AgentContext | undefined;
  const look = createTool({
    name: 'look',
    description: '',
    parameters: {},
    execute: async (_: unknown, ctx) => {
      seen = ctx;
      ctx.logger.info({}, 'silent');
      await expect(ctx.emit('x', 1)).rejects.toBeInstanceOf(EmitOutsideHubError);
      expect(ctx.signal.aborted).toBe(false);
      expect(ctx.signal).toBe(ctx.signal);
    },
  });
  const { agent } = agentOf([{ toolCalls: [{ name: 'look' }] }, 'ok'], { tools: [look] });
  const { runId, toolCalls } = await agent.run('x', { payload: { order: 7 } });
  expect(toolCalls[0]?.error).toBeUndefined();
  expect(seen).toMatchObject({ eventType: 'agent.run', eventId: runId, requestId: runId, payload: { order: 7 } });
});

describe('the conversation', () => {
  async function conversationsOf(
    options: AgentHandlerOptions,
    key?: (payload: { chat: string }) => string,
  ): Promise<string[][]> {
    const hub = createHub();
    const memory = new ConversationMemory({ transport: hub.transport });
    const { agent, provider } = agentOf(['Hello Ada', 'Ada'], { memory });
    hub.event({ type: 'ask', handler: agent.asHandler(options), ...(key !== undefined && { key }) });
    await hub.start();
    for (const [index, text] of ['I am Ada', 'Who am I?'].entries()) {
      await hub.emit('ask', { chat: 'chat-7', text }, { requestId: 'log-id' });
      await vi.waitFor(async () => expect(await hub.metrics('ask')).toMatchObject({ completed: index + 1 }));
    }
    await hub.stop();
    return provider.calls.map(({ messages }) => messages.map(({ content }) => content));
  }
  const text = (payload: unknown): string => (payload as { text: string }).text;

  test('is new for each event, also for events of one request', async () => {
    expect(await conversationsOf({ input: text })).toEqual([['I am Ada'], ['Who am I?']]);
  });

  test('is that of the key of the event', async () => {
    const [, second] = await conversationsOf({ input: text }, ({ chat }) => chat);
    expect(second).toEqual(['I am Ada', 'Hello Ada', 'Who am I?']);
  });

  test('is chosen by conversation before the key', async () => {
    const conversation = (payload: unknown): string => (payload as { text: string }).text;
    expect(await conversationsOf({ input: text, conversation }, ({ chat }) => chat)).toEqual([
      ['I am Ada'],
      ['Who am I?'],
    ]);
  });

  test('is chosen by conversation, from the payload', async () => {
    const conversation = (payload: unknown): string => (payload as { chat: string }).chat;
    const [, second] = await conversationsOf({ input: text, conversation });
    expect(second).toEqual(['I am Ada', 'Hello Ada', 'Who am I?']);
  });

  test.each([
    ['input of asHandler of agent "a" must be a function', { input: 'text' }],
    ['option of asHandler of agent "a" must be one of conversation, input', { conversationId: 'x' }],
  ])('refuses wrong options: %s', (message, options) => {
    const { agent } = agentOf([]);
    // Wrong on purpose: the compiler rejects it.
    expect(() => agent.asHandler(options as unknown as AgentHandlerOptions)).toThrow(message);
  });
});

test('stopping the hub aborts the run', async () => {
  const chat = vi.fn((_messages: unknown, _options: { signal?: AbortSignal }) => new Promise<never>(() => {}));
  const { agent } = agentOf([], { provider: { chat } });
  const hub = createHub();
  hub.event({ type: 'ask', handler: agent.asHandler() });
  await hub.start();
  await hub.emit('ask', 'x');
  await vi.waitFor(() => expect(chat).toHaveBeenCalled());
  await hub.stop({ drainMs: 0 });
  expect(chat.mock.lastCall?.[1].signal?.aborted).toBe(true);
});

test('introspection shows model, tools, delegates, runs by status, and tokens of the handler', async () => {
  const registry = createAgentRegistry();
  const noop = { name: 'noop', description: '', parameters: {}, execute: async () => null };
  const delegate = { agentName: 'helper', input: 'x' };
  const { agent } = agentOf([{ toolCalls: [{ name: 'delegate', arguments: delegate }] }, 'ok', new Error('down')], {
    registry,
    tools: [noop],
    description: 'Leads',
    systemPrompt: 'secret prompt',
  });
  registry.register(agent);
  registry.register(agentOf(['helped'], { name: 'helper' }).agent);
  await agent.run('x');
  await agent.run('x');
  await expect(agent.run('x', { signal: AbortSignal.abort() })).rejects.toThrow();
  const info = handlerInfo(agent.asHandler());
  expect(info?.kind).toBe('agent');
  const agents = info?.agents();
  expect(agents).toEqual([
    {
      name: 'a',
      description: 'Leads',
      model: 'm',
      tools: ['noop', 'delegate'],
      delegates: ['helper'],
      runs: { completed: 1, failed: 1, max_iterations: 0, token_budget_exceeded: 0, aborted: 0 },
      tokenUsage: { promptTokens: 20, completionTokens: 10, totalTokens: 30 },
      begun: 2,
      hours: [{ at: expect.any(Number), runs: 2, tokens: 30 }],
      durations: expect.any(Array),
      longestMs: expect.any(Number),
    },
    expect.objectContaining({ name: 'helper', delegates: [], runs: expect.objectContaining({ completed: 1 }) }),
  ]);
  expect(JSON.stringify(agents)).not.toContain('secret');
});
