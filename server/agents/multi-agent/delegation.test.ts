import { describe, expect, test, vi } from 'vitest';
import { type ScriptEntry, type ScriptedProvider, scriptedProvider } from '../../testing/scripted-provider.js';
import type { Agent } from '../agent/agent.js';
import type { AgentContext } from '../agent/agent-context.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { DelegationCycleError, DelegationDepthError, NoRegistryError, UnknownAgentError } from '../errors.js';
import type { Message } from '../model/message.js';
import { createTool } from '../tools/tool.js';
import { createDebate } from './create-debate.js';
import { createAgentRegistry } from './delegation.js';

function team(members: Record<string, { script: readonly ScriptEntry[] } & Partial<AgentConfig>>) {
  const registry = createAgentRegistry();
  const agents: Record<string, Agent> = {};
  const providers: Record<string, ScriptedProvider> = {};
  for (const [name, { script, ...config }] of Object.entries(members)) {
    const provider = scriptedProvider(script);
    const agent = createAgent({ name, systemPrompt: '', provider, model: { model: 'm' }, registry, ...config });
    registry.register(agent);
    agents[name] = agent;
    providers[name] = provider;
  }
  const get = <T>(of: Record<string, T>, name: string): T => of[name] ?? expect.fail(`no ${name}`);
  return { registry, agent: (name: string) => get(agents, name), provider: (name: string) => get(providers, name) };
}

const handTo = (agentName: string, input = 'do it') => ({
  toolCalls: [{ name: 'delegate', arguments: { agentName, input } }],
});

/** Tool that delegates in its code. */
const asking = (ask: (ctx: AgentContext) => Promise<unknown>) =>
  createTool({ name: 'ask', description: '', parameters: {}, execute: (_: unknown, ctx) => ask(ctx) });
const callAsk = { toolCalls: [{ name: 'ask' }] };

describe('the delegate tool', () => {
  test('lists the other registered agents with their descriptions', async () => {
    const { agent, provider } = team({
      editor: { script: ['ok'] },
      researcher: { script: [], description: 'Finds facts' },
      critic: { script: [] },
    });
    await agent('editor').run('x');
    const [tool, ...others] = provider('editor').calls[0]?.options.tools ?? [];
    expect(others).toEqual([]);
    expect(tool).toMatchObject({
      name: 'delegate',
      parameters: {
        properties: {
          agentName: {
            enum: ['researcher', 'critic'],
            description: expect.stringContaining('- researcher: Finds facts'),
          },
        },
      },
    });
  });

  test('is offered only if another agent is registered', async () => {
    const { registry, agent, provider } = team({ editor: { script: ['ok', 'ok'] } });
    await agent('editor').run('x');
    expect(provider('editor').calls[0]?.options.tools).toBeUndefined();
    registry.register(
      createAgent({ name: 'late', systemPrompt: '', provider: scriptedProvider([]), model: { model: 'm' } }),
    );
    await agent('editor').run('x');
    expect(provider('editor').calls[1]?.options.tools).toHaveLength(1);
  });

  test('returns the other agent’s answer to the model', async () => {
    const { agent, provider } = team({
      editor: { script: [handTo('researcher', 'find it'), 'Done: 42'] },
      researcher: { script: ['42'] },
    });
    const result = await agent('editor').run('x');
    expect(result).toMatchObject({ output: 'Done: 42', toolCalls: [{ name: 'delegate', result: '42' }] });
    expect(provider('researcher').calls[0]?.messages).toEqual([{ role: 'user', content: 'find it' }]);
  });

  test('returns the status, the error and the text so far of an agent that does not complete', async () => {
    const { agent } = team({
      editor: { script: [handTo('researcher'), 'sorry'] },
      researcher: { script: [{ content: 'Half of it', toolCalls: [{ name: 'none' }] }, new Error('library closed')] },
    });
    const { toolCalls, status } = await agent('editor').run('x');
    expect(status).toBe('completed');
    expect(toolCalls[0]).toMatchObject({
      result: { agentName: 'researcher', status: 'failed', error: 'library closed', partialOutput: 'Half of it' },
    });
  });

  test('refuses an unknown name', async () => {
    const { agent } = team({ editor: { script: [handTo('constructor'), 'sorry'] }, researcher: { script: [] } });
    const { toolCalls } = await agent('editor').run('x');
    expect(toolCalls[0]?.error).toContain('arguments.agentName must be one of ["researcher"]');
  });
});

describe('a delegate', () => {
  test('shares requestId, signal and payload, and has its own run id', async () => {
    const contexts: AgentContext[] = [];
    const look = asking(async (ctx) => contexts.push(ctx));
    const { agent } = team({
      editor: { script: [{ toolCalls: [{ name: 'ask' }, ...handTo('researcher').toolCalls] }, 'ok'], tools: [look] },
      researcher: { script: [callAsk, 'ok'], tools: [look] },
    });
    const { signal } = new AbortController();
    await agent('editor').run('x', { requestId: 'req', payload: { order: 7 }, signal });
    const [parent, child] = contexts;
    expect(child).toMatchObject({ agentName: 'researcher', requestId: 'req', payload: { order: 7 } });
    expect(child?.signal).toBe(parent?.signal);
    expect(parent?.runId).toBe('req');
    expect(child?.runId).not.toBe('req');
  });

  test('counts its tokens in the delegating run, and reports them to both listeners', async () => {
    const ofEditor = vi.fn();
    const ofResearcher = vi.fn();
    const { agent } = team({
      editor: { script: [handTo('researcher'), 'ok'], onTokenUsage: ofEditor },
      researcher: { script: ['42'], onTokenUsage: ofResearcher },
    });
    const { tokenUsage } = await agent('editor').run('x');
    expect(tokenUsage.totalTokens).toBe(45);
    expect(ofEditor).toHaveBeenCalledTimes(3);
    expect(ofResearcher).toHaveBeenCalledTimes(1);
  });

  test('reports each call once to a shared listener', async () => {
    const meter = vi.fn();
    const { agent } = team({
      editor: { script: [handTo('researcher'), 'ok'], onTokenUsage: meter },
      researcher: { script: ['42'], onTokenUsage: meter },
    });
    await agent('editor').run('x');
    expect(meter).toHaveBeenCalledTimes(3);
  });

  test('is aborted with the delegating run', async () => {
    const controller = new AbortController();
    const chat = vi.fn(() => new Promise<never>(() => {}));
    const { agent } = team({
      editor: { script: [handTo('researcher')] },
      researcher: { script: [], provider: { chat } },
    });
    const run = agent('editor').run('x', { signal: controller.signal });
    await vi.waitFor(() => expect(chat).toHaveBeenCalled());
    controller.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    const [, options] = chat.mock.lastCall as unknown as [unknown, { signal?: AbortSignal }];
    expect(options.signal?.aborted).toBe(true);
  });

  test('is aborted if the delegating tool exceeds its timeout', async () => {
    const chat = vi.fn((_messages: unknown, { signal }: { signal?: AbortSignal }) => {
      return new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    });
    const slow = { ...asking((ctx) => ctx.delegate('researcher', 'x')), timeoutMs: 5 };
    const { agent } = team({
      editor: { script: [callAsk, 'ok'], tools: [slow] },
      researcher: { script: [], provider: { chat } },
    });
    const { toolCalls } = await agent('editor').run('x');
    expect(toolCalls[0]?.error).toContain('took longer than its timeoutMs (5 ms)');
    expect(chat.mock.lastCall?.[1].signal?.aborted).toBe(true);
  });
});

describe('ctx.delegate', () => {
  const failureOf = async (ask: (ctx: AgentContext) => Promise<unknown>, config: Partial<AgentConfig> = {}) => {
    let failure: unknown;
    const tool = asking((ctx) =>
      ask(ctx).catch((error: unknown) => {
        failure = error;
      }),
    );
    const { agent } = team({
      editor: { script: [callAsk, 'ok'], tools: [tool], ...config },
      other: { script: ['42'] },
    });
    await agent('editor').run('x');
    return failure;
  };

  test('resolves with the result, whatever its status', async () => {
    let status: string | undefined;
    const tool = asking(async (ctx) => {
      status = (await ctx.delegate('other', 'x')).status;
    });
    const { agent } = team({
      editor: { script: [callAsk, 'ok'], tools: [tool] },
      other: { script: [new Error('no')] },
    });
    await agent('editor').run('x');
    expect(status).toBe('failed');
  });

  test('rejects for an unknown agent, and names the registered ones', async () => {
    const failure = await failureOf((ctx) => ctx.delegate('nobody', 'x'));
    expect(failure).toBeInstanceOf(UnknownAgentError);
    expect(failure).toMatchObject({ message: 'agent "nobody" is not registered: registered are "other"' });
  });

  test('rejects without a registry', async () => {
    const provider = scriptedProvider([callAsk, 'ok']);
    let failure: unknown;
    const tool = asking((ctx) =>
      ctx.delegate('other', 'x').catch((error: unknown) => {
        failure = error;
      }),
    );
    await createAgent({ name: 'alone', systemPrompt: '', provider, model: { model: 'm' }, tools: [tool] }).run('x');
    expect(failure).toBeInstanceOf(NoRegistryError);
  });

  test('rejects for the agent itself', async () => {
    expect(await failureOf((ctx) => ctx.delegate('editor', 'x'))).toBeInstanceOf(DelegationCycleError);
  });

  test('rejects beyond maxDelegationDepth', async () => {
    const failure = await failureOf((ctx) => ctx.delegate('other', 'x'), { maxDelegationDepth: 0 });
    expect(failure).toBeInstanceOf(DelegationDepthError);
  });
});

describe('a run with the context of another run', () => {
  test('is refused if it creates a cycle, as an error for the model', async () => {
    const { agent, provider } = team({
      a: { script: [handTo('b'), 'a done'] },
      b: { script: [callAsk, 'b done'], tools: [asking((ctx) => agent('a').run('x', { hubCtx: ctx }))] },
    });
    expect(await agent('a').run('x')).toMatchObject({ status: 'completed', output: 'a done' });
    expect(provider('b').calls[1]?.messages.at(-1)?.content).toContain('delegation cycle: "a" -> "b" -> "a"');
    provider('a').assertDone();
  });

  test('is refused beyond maxDelegationDepth, also with a copy of the context', async () => {
    const { agent, provider } = team({
      a: {
        script: [callAsk, 'ok'],
        tools: [asking((ctx) => agent('b').run('x', { hubCtx: { ...ctx } }))],
        maxDelegationDepth: 0,
      },
      b: { script: [] },
    });
    await agent('a').run('x');
    expect(provider('a').calls[1]?.messages.at(-1)?.content).toContain('exceeds maxDelegationDepth (0)');
    provider('b').assertDone();
  });

  test('is refused for a debate with one of its delegators, before the first model call', async () => {
    const { agent, provider } = team({
      a: { script: [callAsk, 'ok'], tools: [asking((ctx) => debate.run('x', { hubCtx: ctx }))] },
      b: { script: [] },
    });
    const debate = createDebate({ name: 'd', participants: [agent('b'), agent('a')] });
    await agent('a').run('x');
    expect(provider('a').calls[1]?.messages.at(-1)?.content).toContain('delegation cycle: "a" -> "a"');
    provider('b').assertDone();
  });
});

test('delegating to a delegator is a tool error that contains the chain', async () => {
  const { agent, provider } = team({
    a: { script: [handTo('b'), 'a done'] },
    b: { script: [handTo('c'), 'b done'] },
    c: { script: [handTo('a'), 'c done'] },
  });
  expect(await agent('a').run('x')).toMatchObject({ status: 'completed', output: 'a done' });
  expect(provider('c').calls[1]?.messages.at(-1)?.content).toContain('"a" -> "b" -> "c" -> "a"');
});

test('eight levels of delegation work, the ninth does not', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
  const { agent, provider } = team(
    Object.fromEntries(
      names.map((name, index) => [name, { script: [handTo(names[index + 1] ?? 'a'), `${name} done`] }]),
    ),
  );
  expect((await agent('a').run('x')).output).toBe('a done');
  expect(provider('i').calls[1]?.messages.at(-1)?.content).toContain('exceeds maxDelegationDepth (8)');
  expect(provider('j').calls).toHaveLength(0);
});

test('maxDelegationDepth of the first delegator applies to the whole chain', async () => {
  const { agent, provider } = team({
    a: { script: [handTo('b'), 'a done'], maxDelegationDepth: 1 },
    b: { script: [handTo('c'), 'b done'] },
    c: { script: [] },
  });
  expect((await agent('a').run('x')).output).toBe('a done');
  expect(provider('b').calls[1]?.messages.at(-1)?.content).toContain('exceeds maxDelegationDepth (1)');
});

test.each([
  [100, {}],
  [7, { maxDelegations: 7 }],
])('one run starts at most %i delegated runs, however the agents delegate', async (limit, config) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  let calls = 0;
  const registry = createAgentRegistry();
  const provider = {
    chat: async (messages: Message[]) => {
      calls++;
      const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
      if (messages.some(({ role }) => role === 'tool'))
        return { content: 'done', usage, finishReason: 'stop' as const };
      const toolCalls = names.map((agentName) => {
        return { id: agentName, name: 'delegate', arguments: JSON.stringify({ agentName, input: 'x' }) };
      });
      return { content: '', toolCalls, usage, finishReason: 'tool_calls' as const };
    },
  };
  for (const name of names) {
    registry.register(createAgent({ name, systemPrompt: '', provider, model: { model: 'm' }, registry, ...config }));
  }
  expect((await registry.get('a')?.run('x'))?.status).toBe('completed');
  expect(calls).toBe(2 * (limit + 1));
});
