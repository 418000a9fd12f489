import { inspect } from 'node:util';
import { expect, test, vi } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import type { HandlerFunction } from '../hub/events/context.js';
import { type ScriptEntry, scriptedProvider } from '../testing/scripted-provider.js';
import type { Logger } from '../transports/transport.js';
import type { ModelAgent } from './agent/agent.js';
import { AgentRunError } from './agent/run-result.js';
import { type AgentConfig, createAgent } from './create-agent.js';
import { ConversationMemory } from './memory/conversation-memory.js';
import type { ModelProvider } from './model/model-provider.js';
import { ProviderError } from './model/provider-error.js';
import { createDebate } from './multi-agent/create-debate.js';
import { createAgentRegistry } from './multi-agent/delegation.js';
import { createTool } from './tools/tool.js';

/** Writes lines as pino does: an error with its own enumerable fields, its stack, and the stacks of its causes. */
function jsonLogger(lines: string[], bound: object = {}): Logger {
  const write = (fields: object, msg: string): void => {
    lines.push(
      JSON.stringify({ ...bound, ...fields, msg }, (_key, value) => (value instanceof Error ? plain(value) : value)),
    );
  };
  return {
    debug: write,
    info: write,
    warn: write,
    error: write,
    child: (fields) => jsonLogger(lines, { ...bound, ...fields }),
  };
}

function plain(error: Error): object {
  const { name, message, stack, cause } = error;
  return { ...error, type: name, message, stack, ...(cause !== undefined && { cause }) };
}

const canary = 'CANARY-7f3a';
const down = new ProviderError('down', { provider: 'p', statusCode: 503, retryable: true });
const refused = new ProviderError('refused', { provider: 'p', statusCode: 401, retryable: false });
const call = (name: string, value: unknown = { value: canary }): ScriptEntry => ({
  content: `thinking of ${canary}`,
  toolCalls: [{ name, arguments: value }],
});

const tools = [
  createTool({ name: 'read', description: '', parameters: {}, execute: async () => ({ secret: canary }) }),
  createTool({
    name: 'fail',
    description: '',
    parameters: {},
    execute: async () => {
      throw new TypeError('the disk is full');
    },
  }),
  createTool({
    name: 'strict',
    description: '',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    execute: async () => 1,
  }),
];

function agentOf(script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}): ModelAgent {
  const provider = scriptedProvider(script);
  return createAgent({ name: 'a', systemPrompt: canary, provider, model: { model: 'm' }, tools, ...config });
}

const withName = (name: string, script: readonly ScriptEntry[]): ModelAgent => agentOf(script, { name });
const badProvider: ModelProvider = { chat: async () => ({ content: [canary], toolCalls: canary }) as never };
const repeated = Array.from({ length: 5 }, () => call('read'));

function delegating(): ModelAgent {
  const registry = createAgentRegistry();
  registry.register(withName('helper', [call('read'), down]));
  const script = [{ toolCalls: [{ name: 'delegate', arguments: { agentName: 'helper', input: canary } }] }, down];
  return agentOf(script, { registry });
}

const failures: Record<string, () => { handler: HandlerFunction }> = {
  'a failing provider': () => ({ handler: agentOf([call('read'), down]).asHandler() }),
  'a refused call': () => ({ handler: agentOf([call('read'), refused]).asHandler() }),
  'a failing tool': () => ({ handler: agentOf([call('fail'), down]).asHandler() }),
  'arguments that are not JSON': () => ({ handler: agentOf([call('read', `{${canary}`), down]).asHandler() }),
  'arguments that do not fit': () => ({ handler: agentOf([call('strict', { [canary]: 1 }), down]).asHandler() }),
  'an unknown tool': () => ({ handler: agentOf([call(canary), down]).asHandler() }),
  'a stuck loop': () => ({ handler: agentOf(repeated).asHandler() }),
  'too many turns': () => ({ handler: agentOf([call('read')], { maxIterations: 1 }).asHandler() }),
  'a spent budget': () => ({ handler: agentOf([call('read')], { tokenBudget: 20 }).asHandler() }),
  'a provider that returns something else': () => ({ handler: agentOf([], { provider: badProvider }).asHandler() }),
  'a failing delegate': () => ({ handler: delegating().asHandler() }),
  'a debate': () => {
    const participants = [withName('x', [canary, call('read'), down]), withName('y', [canary, canary])];
    return { handler: createDebate({ name: 'd', participants }).asHandler() };
  },
  'a stream that was left': () => ({
    handler: async (ctx) => {
      const stream = agentOf([call('read'), 'never'], {}).stream(canary, { hubCtx: ctx });
      for await (const event of stream) if (event.type === 'tool-result') break;
      await stream.result;
    },
  }),
  'an error that a user logs': () => ({
    handler: async (ctx) => {
      const err = new AgentRunError(await agentOf([call('read'), down]).run(canary));
      ctx.logger.error({ err, all: { err } }, 'my own line');
      throw err;
    },
  }),
};

test.each(Object.entries(failures))('nothing that was said reaches a log after %s', async (_, failure) => {
  const lines: string[] = [];
  const hub = createHub({ logger: jsonLogger(lines) });
  const memory = new ConversationMemory({ transport: hub.transport });
  await memory.addMessage('a', canary, { role: 'user', content: canary });
  hub.event({ type: 'x', ...failure(), retry: { maxAttempts: 1 } });
  await hub.start();
  await hub.emit('x', { input: canary });
  await vi.waitFor(async () => expect(await hub.metrics('x')).toMatchObject({ failed: 1 }));
  const [deadLetter] = await hub.deadLetters('x');
  await hub.stop();
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.join('')).not.toContain(canary);
  expect(deadLetter?.message).not.toContain(canary);
});

test('errors show nothing that was said when they are inspected or serialised', async () => {
  const result = await agentOf([call('read'), down]).run(canary);
  const error = new AgentRunError(result);
  expect(error.result).toBe(result);
  for (const text of [inspect(error, { depth: 10 }), JSON.stringify(error), JSON.stringify({ ...error })]) {
    expect(text).not.toContain(canary);
  }
});

test('an entry that is not a message is reported without its content and its conversation', async () => {
  const hub = createHub();
  const memory = new ConversationMemory({ transport: hub.transport });
  await hub.transport.kv.append(`agent-memory:${JSON.stringify(['a', canary])}`, [`{"${canary}`]);
  const { error } = await agentOf([], { memory }).run('x', { conversationId: canary });
  expect(error).toMatchObject({ code: 'ERR_MEMORY_ENTRY', conversationId: canary });
  expect(inspect(error, { depth: 10 })).not.toContain(canary);
});

test('a tool that throws is logged with its stack and the ids of the run', async () => {
  const lines: string[] = [];
  const logger = jsonLogger(lines);
  await agentOf([call('read'), call('fail'), 'ok'], { logger }).run('x', { requestId: 'r-1' });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      msg: 'tool "fail" failed',
      requestId: 'r-1',
      runId: 'r-1',
      agent: 'a',
      tool: 'fail',
      turn: 2,
      err: { type: 'TypeError', message: 'the disk is full', stack: expect.stringContaining('privacy.test.ts') },
    },
  ]);
});

test('forwarding every event of a stream sends no system prompt', async () => {
  const stream = agentOf([{ toolCalls: [{ name: 'strict' }] }, 'ok']).stream('x');
  const sent: string[] = [];
  for await (const event of stream) sent.push(JSON.stringify(event), JSON.stringify(structuredClone(event)));
  expect(sent.join('')).not.toContain(canary);
  expect((await stream.result).messages[0]?.content).toBe(canary);
});
