import { readUIMessageStream } from 'ai';
import { describe, expect, test, vi } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { recordTelemetry } from '../../testing/record-telemetry.fixture.js';
import { type ScriptEntry, type ScriptedProvider, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import type { ModelAgent } from '../agent/agent.js';
import { toUIMessageStream } from '../agent/ui-message-stream.js';
import { introspectAgents } from '../agent-spec.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { NoApproverError } from '../errors.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import type { Message } from '../model/message.js';
import { add, callAdd, usageOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import { createPipeline } from './create-pipeline.js';
import { AgentRegistry, createAgentRegistry } from './delegation.js';

type Member = { script: readonly ScriptEntry[] } & Partial<AgentConfig>;

/** Creates agents that can hand over to each other. */
function team(members: Record<string, Member>, registry: AgentRegistry = createAgentRegistry()) {
  const agents = new Map<string, ModelAgent>();
  const providers = new Map<string, ScriptedProvider>();
  for (const [name, { script, ...config }] of Object.entries(members)) {
    const provider = scriptedProvider(script);
    const model = { model: `model of ${name}` };
    const agent = createAgent({ name, systemPrompt: `You are ${name}.`, provider, model, registry, ...config });
    registry.register(agent, { handoff: true });
    agents.set(name, agent);
    providers.set(name, provider);
  }
  return {
    agent: (name: string) => agents.get(name) ?? expect.fail(`no ${name}`),
    provider: (name: string) => providers.get(name) ?? expect.fail(`no ${name}`),
    assertDone: () => {
      for (const provider of providers.values()) provider.assertDone();
    },
  };
}

const handTo = (...names: string[]) => ({
  toolCalls: names.map((agentName) => ({ name: 'handoff', arguments: { agentName } })),
});
const textsOf = (messages: readonly Message[] = []): string[] => messages.map(({ content }) => content);
const newMemory = () => {
  const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
  return new ConversationMemory({ transport });
};

describe('an agent that is registered with handoff: true', () => {
  test('continues the run, and the result names it', async () => {
    const { agent, provider, assertDone } = team({
      triage: { script: [{ content: 'One moment.', ...handTo('billing') }] },
      billing: { script: [callAdd(1, 2), 'It is 3.'], tools: [add] },
    });
    const result = await agent('triage').run('what do I owe?');
    assertDone();
    expect(result).toMatchObject({
      agentName: 'billing',
      output: 'It is 3.',
      status: 'completed',
      toolCalls: [
        { name: 'handoff', result: { handedOverTo: 'billing' } },
        { name: 'add', result: 3 },
      ],
      tokenUsage: { totalTokens: 45 },
    });
    expect(textsOf(provider('billing').calls[0]?.messages)).toEqual([
      'You are billing.',
      'what do I owe?',
      'One moment.',
      '{"handedOverTo":"billing"}',
    ]);
    expect(provider('billing').calls[0]?.options).toMatchObject({ model: 'model of billing' });
  });

  test('is offered by the tool handoff, and not by delegate', async () => {
    const registry = createAgentRegistry();
    const provider = scriptedProvider([]);
    const researcher = createAgent({ name: 'researcher', systemPrompt: '', provider, model: { model: 'm' } });
    registry.register(researcher);
    const { agent, provider: of } = team({ triage: { script: ['ok'] }, billing: { script: [] } }, registry);
    await agent('triage').run('x');
    const tools = of('triage').calls[0]?.options.tools ?? [];
    expect(tools.map(({ name }) => name)).toEqual(['delegate', 'handoff']);
    expect(tools).toMatchObject([
      { parameters: { properties: { agentName: { enum: ['researcher'] } } } },
      { parameters: { properties: { agentName: { enum: ['billing'] } } } },
    ]);
  });

  test('takes the conversation over after all calls of the turn, from the first handoff of a turn only', async () => {
    const { agent, provider } = team({
      triage: {
        script: [{ toolCalls: [...handTo('billing', 'support').toolCalls, ...callAdd(1, 2).toolCalls] }],
        tools: [add],
      },
      billing: { script: ['Done.'] },
      support: { script: [] },
    });
    const { agentName, toolCalls } = await agent('triage').run('x');
    expect(agentName).toBe('billing');
    expect(toolCalls).toMatchObject([
      { result: { handedOverTo: 'billing' } },
      { error: expect.stringContaining('the first handoff of a turn is the only one') },
      { result: 3 },
    ]);
    expect(provider('billing').calls[0]?.messages.filter(({ role }) => role === 'tool')).toHaveLength(3);
  });

  test('can hand over further, and not back: cycles, depth and number are limited as for delegates', async () => {
    const { agent } = team({
      triage: { script: [handTo('billing')] },
      billing: { script: [handTo('triage'), handTo('support')] },
      support: { script: ['Done.'] },
    });
    const { agentName, toolCalls } = await agent('triage').run('x');
    expect(agentName).toBe('support');
    expect(toolCalls[1]?.error).toBe(
      'delegation cycle: "triage" -> "billing" -> "triage"; answer without this delegation',
    );
    for (const limit of ['maxDelegationDepth', 'maxDelegations']) {
      const bounded = team({
        triage: { script: [handTo('billing')], [limit]: 1 },
        billing: { script: [handTo('support'), 'Sorry.'] },
        support: { script: [] },
      });
      const result = await bounded.agent('triage').run('x');
      expect(result).toMatchObject({ agentName: 'billing', output: 'Sorry.' });
      expect(result.toolCalls[1]?.error).toContain(`exceeds ${limit} (1)`);
    }
  });

  test('spends the budgets of both agents, and the turns and calls of the first one', async () => {
    const [ofTriage, ofBilling] = [vi.fn(), vi.fn()];
    const spending = { usage: usageOf(400) };
    const members = (config: Partial<AgentConfig>, ofTaker: Partial<AgentConfig>) => ({
      triage: { script: [{ ...handTo('billing'), ...spending }], onTokenUsage: ofTriage, ...config },
      billing: {
        script: [
          { ...callAdd(1, 2), ...spending },
          { ...callAdd(2, 2), ...spending },
          { content: 'Done.', ...spending },
        ],
        tools: [add],
        onTokenUsage: ofBilling,
        ...ofTaker,
      },
    });
    const run = (config: Partial<AgentConfig>, ofTaker: Partial<AgentConfig> = {}) =>
      team(members(config, ofTaker)).agent('triage').run('x');
    expect((await run({})).tokenUsage.totalTokens).toBe(1_600);
    expect([ofTriage.mock.calls.length, ofBilling.mock.calls.length]).toEqual([4, 3]);
    expect(await run({ tokenBudget: 1_000 })).toMatchObject({
      agentName: 'billing',
      status: 'token_budget_exceeded',
      budget: 'tokenBudget',
    });
    expect(await run({}, { tokenBudget: 600 })).toMatchObject({ status: 'token_budget_exceeded' });
    expect(await run({ maxIterations: 3 })).toMatchObject({ agentName: 'billing', status: 'max_iterations' });
    expect((await run({ maxToolCalls: 2 }, { maxToolCalls: 100 })).toolCalls[2]?.error).toContain('maxToolCalls (2)');
    const limited = await run({ spendLimits: [{ max: 1_000, perMs: 1_000, unit: 'tokens' }] });
    expect(limited).toMatchObject({ budget: 'spendLimits', spendLimit: { agent: 'triage' } });
  });

  test('must be of createAgent, have the same outputSchema, and an approver for its tools', async () => {
    const schema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] };
    const typed = { outputSchema: schema };
    const same = team({
      triage: { script: [handTo('billing')], ...typed },
      billing: { script: ['{"total":3}'], ...typed },
    });
    expect(await same.agent('triage').run('x')).toMatchObject({ agentName: 'billing', data: { total: 3 } });
    const other = team({ triage: { script: [], ...typed }, billing: { script: [] } });
    await expect(other.agent('triage').run('x')).rejects.toThrow(
      'outputSchema of agent "billing", registered with handoff: true, must be the same outputSchema object as "triage"',
    );
    const { hub } = testHub();
    hub.event({ type: 'asked', handler: other.agent('triage').asHandler() });
    await expect(hub.start()).rejects.toThrow('the same outputSchema object');
    const { hub: piping } = testHub();
    piping.workflow(createPipeline({ name: 'line', steps: [{ agent: other.agent('triage') }] }));
    await expect(piping.start()).rejects.toThrow('the same outputSchema object');
    const asking = team({
      triage: { script: [] },
      billing: { script: [], tools: [{ ...add, needsApproval: true }] },
    });
    await expect(asking.agent('triage').run('x')).rejects.toThrow(NoApproverError);
    const registry = new AgentRegistry();
    const { agent } = team({ triage: { script: [] } }, registry);
    registry.register({ ...agent('triage'), name: 'copy' }, { handoff: true });
    await expect(agent('triage').run('x')).rejects.toThrow('must be an agent from createAgent');
  });

  test('is shown by streams, UI messages, spans and introspection', async () => {
    const telemetry = recordTelemetry();
    const { agent } = team({
      triage: { script: [handTo('billing'), handTo('billing')] },
      billing: { script: ['Done.', 'Done.'] },
    });
    const events: unknown[] = [];
    for await (const event of agent('triage').stream('x')) if (event.type !== 'run-end') events.push(event);
    expect(events).toContainEqual({ type: 'handoff', turn: 1, from: 'triage', to: 'billing' });
    expect(events.findIndex((event) => Object(event).type === 'handoff')).toBeLessThan(
      events.findIndex((event) => Object(event).type === 'text-delta'),
    );
    expect(telemetry.tree()).toEqual([
      'invoke_agent triage',
      '  chat model of triage',
      '  execute_tool handoff',
      '  invoke_agent billing',
      '    chat model of billing',
    ]);
    expect(telemetry.span('invoke_agent billing').attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 10 });
    expect(telemetry.span('invoke_agent triage').attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 20 });
    let parts: unknown[] = [];
    for await (const message of readUIMessageStream({ stream: toUIMessageStream(agent('triage').stream('x')) })) {
      parts = message.parts;
    }
    expect(parts).toContainEqual({
      type: 'data-handoff',
      id: 'handoff-1',
      data: { from: 'triage', to: 'billing' },
    });
    expect(introspectAgents([agent('triage')])).toMatchObject([
      {
        name: 'triage',
        delegates: ['billing'],
        handoffs: ['billing'],
        begun: 2,
        runs: { handed_over: 2, completed: 0 },
      },
      { name: 'billing', begun: 2, runs: { completed: 2 } },
    ]);
  });
});

describe('a conversation that was handed over', () => {
  test('stays with its agent, which can hand it back', async () => {
    const memory = newMemory();
    // Each call reserves 2,048 tokens for its answer.
    const oneCallAtOnce = { max: 3_000, perMs: 60_000, unit: 'tokens' } as const;
    const { agent, provider, assertDone } = team({
      triage: { script: [handTo('billing'), 'Anything else?'], memory, spendLimits: [oneCallAtOnce] },
      billing: { script: ['Your name?', handTo('triage')] },
    });
    const chat = { conversationId: 'chat' };
    expect((await agent('triage').run('I want a refund', chat)).agentName).toBe('billing');
    const second = await agent('triage').run('Ada. Thank you.', chat);
    expect(second).toMatchObject({ agentName: 'triage', output: 'Anything else?' });
    expect(second.tokenUsage.totalTokens).toBe(30);
    assertDone();
    expect(textsOf(provider('billing').calls[1]?.messages)).toEqual([
      'You are billing.',
      'I want a refund',
      '',
      '{"handedOverTo":"billing"}',
      'Your name?',
      'Ada. Thank you.',
    ]);
    expect(textsOf(provider('triage').calls[1]?.messages)[0]).toBe('You are triage.');
  });

  test('goes back to the agent that is run if its holder is not registered any more', async () => {
    const memory = newMemory();
    const chat = { conversationId: 'chat' };
    const before = team({ triage: { script: [handTo('billing')], memory }, billing: { script: ['ok'] } });
    await before.agent('triage').run('x', chat);
    const after = team({ triage: { script: ['Hello.'], memory } });
    expect(await after.agent('triage').run('y', chat)).toMatchObject({ agentName: 'triage', output: 'Hello.' });
  });

  test('is resumed by the agent that had it when an attempt was interrupted', async () => {
    const memory = newMemory();
    const attempt = { conversationId: 'chat', idempotencyKey: 'k' };
    const first = team({
      triage: { script: [handTo('billing')], memory },
      billing: { script: [handTo('support')] },
      support: { script: [new Error('connection lost')] },
    });
    expect((await first.agent('triage').run('x', attempt)).status).toBe('failed');
    const second = team({
      triage: { script: [], memory },
      billing: { script: [] },
      support: { script: [handTo('triage'), 'Here I am.'] },
    });
    const result = await second.agent('triage').run('x', attempt);
    second.assertDone();
    expect(result).toMatchObject({ agentName: 'support', output: 'Here I am.' });
    expect(result.toolCalls[0]?.error).toContain('delegation cycle: "triage" -> "billing" -> "support" -> "triage"');
    expect(textsOf(second.provider('support').calls[0]?.messages)[0]).toBe('You are support.');
    const third = team({ triage: { script: [], memory }, billing: { script: [] }, support: { script: [] } });
    const again = await third.agent('triage').run('x', attempt);
    expect(again).toMatchObject({ agentName: 'support', output: 'Here I am.', status: 'completed' });
  });

  test('is handed over after the calls of the same turn that an abort interrupted', async () => {
    const memory = newMemory();
    const attempt = { conversationId: 'chat', idempotencyKey: 'k' };
    const paid: string[] = [];
    const left = new AbortController();
    const pay = createTool({
      name: 'pay',
      description: 'Pays',
      parameters: { type: 'object' },
      async execute(_input, { agentName, callKey, signal }) {
        paid.push(`${agentName} ${callKey}`);
        if (paid.length === 1)
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    const turn = { toolCalls: [...handTo('billing').toolCalls, { name: 'pay' }] };
    const first = team({ triage: { script: [turn], memory, tools: [pay] }, billing: { script: [] } });
    const interrupted = async () => {
      for await (const { type } of first.agent('triage').stream('x', { ...attempt, signal: left.signal })) {
        if (type === 'tool-result') left.abort(new Error('the page was left'));
      }
    };
    await expect(interrupted()).rejects.toThrow('was left');
    const second = team({ triage: { script: [], memory, tools: [pay] }, billing: { script: ['Done.'] } });
    const events: unknown[] = [];
    const stream = second.agent('triage').stream('x', attempt);
    for await (const event of stream) if (event.type === 'handoff') events.push(event);
    expect(await stream.result).toMatchObject({ agentName: 'billing', output: 'Done.' });
    expect(events).toEqual([{ type: 'handoff', turn: 1, from: 'triage', to: 'billing' }]);
    expect(paid).toHaveLength(2);
    expect(paid[1]).toBe(paid[0]);
    expect(paid[0]).toMatch(/^triage /);
  });

  test('keeps a system message of its own', async () => {
    const memory = newMemory();
    await memory.addMessage('triage', 'chat', { role: 'system', content: 'The customer is Ada.' });
    const { agent, provider } = team({
      triage: { script: [handTo('billing')], memory, systemPrompt: '' },
      billing: { script: ['Hello Ada.'] },
    });
    await agent('triage').run('hello', { conversationId: 'chat' });
    const sent = textsOf(provider('billing').calls[0]?.messages);
    expect(sent.slice(0, 3)).toEqual(['You are billing.', 'The customer is Ada.', 'hello']);
  });
});
