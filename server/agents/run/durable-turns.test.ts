import { describe, expect, test } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { deferred, testHub } from '../../hub/hub.fixture.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import type { ModelProvider } from '../model/model-provider.js';
import { createDebate } from '../multi-agent/create-debate.js';
import { createPipeline } from '../multi-agent/create-pipeline.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { createTool, type Tool } from '../tools/tool.js';

const call = (name: string, args: unknown = {}) => ({ toolCalls: [{ name, arguments: args }] });

function agentOf(script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}) {
  const provider = scriptedProvider(script);
  return { provider, agent: createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, ...config }) };
}

function toolOf(name: string, execute: Tool['execute'], more: Partial<Tool> = {}): Tool {
  return { name, description: '', parameters: { type: 'object' }, execute, ...more };
}

/** Registers on a hub, starts it, and stops it without a drain, as a crash of the process would. */
async function withHub<T>(transport: Transport, register: (hub: Hub) => void, work: (hub: Hub) => Promise<T>) {
  const hub = createHub({ transport });
  register(hub);
  await hub.start();
  try {
    return await work(hub);
  } finally {
    await hub.stop({ drainMs: 0 });
  }
}

const idle = (): Promise<never> => new Promise(() => {});
const completed = (hub: Hub, type: string, count = 1) =>
  expect.poll(async () => (await hub.metrics(type)).completed).toBe(count);

describe('an event that an agent handles', () => {
  test('stops after the model call that runs while its type is paused, and repeats none after the resume', async () => {
    const hub = createHub();
    const [begun, answered] = [deferred(), deferred()];
    let looks = 0;
    const look = toolOf('look', async () => {
      looks += 1;
      return 'found';
    });
    const { provider, agent } = agentOf([call('look'), 'ok'], { tools: [look] });
    const waiting: ModelProvider = {
      async chat(...args) {
        begun.resolve();
        await answered.promise;
        return provider.chat(...args);
      },
    };
    const slow = createAgent({
      name: agent.name,
      systemPrompt: '',
      provider: waiting,
      model: { model: 'm' },
      tools: [look],
    });
    hub.event({ type: 'asked', handler: slow.asHandler() });
    await hub.start();
    await hub.emit('asked', 'go');
    await begun.promise;
    await hub.pause({ type: 'asked' }, { reason: 'too expensive', by: 'ada' });
    answered.resolve();
    await expect.poll(async () => (await hub.metrics('asked')).active).toBe(0);
    expect(await hub.metrics('asked')).toMatchObject({ pending: 1, failed: 0 });
    expect([provider.calls.length, looks]).toEqual([1, 0]);
    expect(await hub.health()).toMatchObject({ status: 'ok', problems: [] });
    await hub.resume({ type: 'asked' }, { by: 'ada' });
    await completed(hub, 'asked');
    expect([provider.calls.length, looks]).toEqual([2, 1]);
    await hub.stop();
  });

  test('resumes at the turn that an interrupted delivery had reached', async () => {
    const transport = memoryTransport();
    const keys: unknown[] = [];
    const paid: unknown[] = [];
    const reached = deferred();
    const pay = (isStuck: boolean) =>
      toolOf('pay', async (input, ctx) => {
        keys.push(ctx.callKey);
        if (isStuck) {
          reached.resolve();
          return idle();
        }
        paid.push(input);
        await ctx.emit('told', input);
        return { paid: true };
      });
    const look = toolOf('look', async () => 'found');
    const first = agentOf([call('look'), call('pay', { n: 1 })], { tools: [look, pay(true)] });
    const register = (agent: ReturnType<typeof agentOf>['agent']) => (hub: Hub) => {
      hub.event({ type: 'asked', handler: agent.asHandler(), onSuccess: 'done' });
      hub.event({ type: 'told', handler: () => {} });
      hub.event({ type: 'done', handler: () => {} });
    };
    await withHub(transport, register(first.agent), async (hub) => {
      await hub.emit('asked', 'go');
      await reached.promise;
    });
    const second = agentOf(['ok'], { tools: [toolOf('look', () => Promise.reject(new Error('again'))), pay(false)] });
    await withHub(transport, register(second.agent), async (hub) => {
      await completed(hub, 'done');
      await completed(hub, 'told');
    });
    first.provider.assertDone();
    second.provider.assertDone();
    expect(paid).toEqual([{ n: 1 }]);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(second.provider.calls[0]?.messages.map(({ content }) => content)).toEqual([
      'go',
      '',
      'found',
      '',
      '{"paid":true}',
    ]);
  });

  test.each([
    { providerMetadata: { signature: new Map() } },
    { finishReason: new Map() },
    { usage: { promptTokens: 1, completionTokens: 1, estimated: new Map() } },
  ])('records no answer that JSON would change: %j', async (more) => {
    const { hub, clock } = testHub();
    const chat = async () => ({ content: 'ok', finishReason: 'stop', ...more });
    // Such a provider has no types.
    const { agent } = agentOf([], { provider: { chat } as unknown as ModelProvider });
    hub.event({ type: 'asked', handler: agent.asHandler() });
    await hub.start();
    await hub.emit('asked', 'go');
    await clock.settle();
    const [dead] = await hub.deadLetters('asked');
    expect(dead?.message).toMatch(/output of step turn 1.*, which JSON cannot represent$/);
  });

  test('shows its turns, and their outputs if asked', async () => {
    const { hub, clock } = testHub();
    const tools = [toolOf('look', async () => ({ at: 1 }))];
    const twice = { toolCalls: [{ name: 'look' }, { name: 'look', arguments: { more: 1 } }, { name: 'secret' }] };
    const { agent } = agentOf([twice, 'fine'], { tools });
    const asked = hub.event({ type: 'asked', handler: agent.asHandler() });
    await hub.start();
    const { id } = await hub.emit(asked, 'go');
    await clock.settle();
    const run = await hub.getRun(asked, id);
    expect(run).toMatchObject({ id, status: 'completed', attempt: 1 });
    expect(run.steps.map(({ kind, name, status }) => `${kind} ${name} ${status}`)).toEqual([
      'model turn 1 completed',
      'tool turn 1 / unknown tool completed',
      'tool turn 1 / look completed',
      'tool turn 1 / look #2 completed',
      'model turn 2 completed',
    ]);
    expect(JSON.stringify(run)).not.toContain('fine');
    const { steps } = await hub.getRun('asked', id, { outputs: true });
    expect(steps[2]).toMatchObject({ output: { content: '{"at":1}' } });
    expect(steps.at(-1)).toMatchObject({ output: { answer: { content: 'fine' } } });
  });

  test('counts budget, turns and repetitions over all attempts, and calls listeners once', async () => {
    const { hub, clock } = testHub();
    const down = new Error('down');
    const usage: number[] = [];
    const onTokenUsage = ({ totalTokens }: { totalTokens: number }) => void usage.push(totalTokens);
    const tools = [toolOf('look', async () => 1)];
    const script = [call('look'), down, call('look'), down, call('look')];
    const budget = agentOf(script, { tools, tokenBudget: 60, onTokenUsage });
    const turns = agentOf(script, { name: 'b', tools, maxIterations: 3 });
    const repeats = agentOf(script, { name: 'c', tools, maxRepeats: 3 });
    const retry = { maxAttempts: 5, initialDelayMs: 0 };
    for (const { agent } of [budget, turns, repeats]) {
      hub.event({ type: agent.name, handler: agent.asHandler(), retry });
    }
    await hub.start();
    for (const { agent } of [budget, turns, repeats]) await hub.emit(agent.name, 'go');
    await clock.advance(10);
    const messages = await Promise.all(['a', 'b', 'c'].map(async (type) => (await hub.failures(type))[0]?.message));
    expect(messages).toEqual([
      expect.stringContaining('token_budget_exceeded'),
      expect.stringContaining('max_iterations'),
      expect.stringContaining('called "look"'),
    ]);
    for (const { provider } of [budget, turns, repeats]) provider.assertDone();
    expect(usage).toEqual([15, 15, 15]);
  });

  test('tells the model of a call that must not be repeated, and repeats no other', async () => {
    const transport = memoryTransport();
    const reached = deferred();
    const executed: string[] = [];
    const tools = (isStuck: boolean) =>
      ['once', 'often'].map((name) =>
        toolOf(
          name,
          async () => {
            executed.push(name);
            if (executed.length === 2) reached.resolve();
            return isStuck ? idle() : 'done';
          },
          name === 'once' ? { retryable: false } : {},
        ),
      );
    const both = { toolCalls: [{ name: 'once' }, { name: 'often' }] };
    const first = agentOf([both], { tools: tools(true) });
    await withHub(
      transport,
      (hub) => void hub.event({ type: 'asked', handler: first.agent.asHandler() }),
      async (hub) => {
        await hub.emit('asked', 'go');
        await reached.promise;
      },
    );
    const second = agentOf(['ok'], { tools: tools(false) });
    await withHub(
      transport,
      (hub) => void hub.event({ type: 'asked', handler: second.agent.asHandler() }),
      (hub) => completed(hub, 'asked'),
    );
    expect(executed.sort()).toEqual(['often', 'often', 'once']);
    expect(second.provider.calls[0]?.messages.slice(-2).map(({ content }) => content)).toEqual([
      expect.stringContaining('may or may not have been executed'),
      'done',
    ]);
  });

  test.each([true, false])(
    'repeats no call that the deployed tool says must not be repeated, and executes the next one: %s',
    async (was) => {
      const transport = memoryTransport();
      const reached = deferred();
      const executed: string[] = [];
      const pay = (name: string, retryable: boolean): Tool =>
        toolOf(
          name,
          async () => {
            executed.push(name);
            reached.resolve();
            return executed.length === 1 ? idle() : 'paid';
          },
          { retryable },
        );
      // One call at a time, so that the second one has not begun.
      const first = agentOf([{ toolCalls: [{ name: 'one' }, { name: 'two' }] }], {
        tools: [pay('one', was), pay('two', false)],
        maxParallelToolCalls: 1,
      });
      const register = (agent: ReturnType<typeof agentOf>['agent']) => (hub: Hub) =>
        void hub.event({ type: 'asked', handler: agent.asHandler() });
      await withHub(transport, register(first.agent), async (hub) => {
        await hub.emit('asked', 'go');
        await reached.promise;
      });
      const second = agentOf(['ok'], { tools: [pay('one', false), pay('two', false)] });
      await withHub(transport, register(second.agent), (hub) => completed(hub, 'asked'));
      expect(executed).toEqual(['one', 'two']);
      expect(second.provider.calls[0]?.messages.slice(-2).map(({ content }) => content)).toEqual([
        expect.stringContaining('may or may not have been executed'),
        'paid',
      ]);
    },
  );

  test('emits nothing of a tool that throws, and once of a tool that returns', async () => {
    const { hub, clock } = testHub();
    const seen: unknown[] = [];
    const tell = (name: string, end: () => unknown) =>
      toolOf(name, async (_input, ctx) => {
        await ctx.emit('told', name);
        return end();
      });
    const fails = () => {
      throw new Error('no');
    };
    const tools = [tell('good', () => 1), tell('bad', fails)];
    const { agent } = agentOf([{ toolCalls: [{ name: 'bad' }, { name: 'good' }] }, new Error('down'), 'ok'], { tools });
    hub.event({ type: 'asked', handler: agent.asHandler(), retry: { maxAttempts: 2, initialDelayMs: 0 } });
    hub.event({ type: 'told', handler: ({ payload }) => void seen.push(payload) });
    await hub.start();
    await hub.emit('asked', 'go');
    await clock.advance(1);
    expect(seen).toEqual(['good']);
    expect(await hub.metrics('asked')).toMatchObject({ completed: 1, retried: 1 });
  });

  test('ends an attempt at its timeout, and resumes in the next one', async () => {
    const { hub, clock } = testHub();
    let calls = 0;
    const slow = toolOf('slow', () => (++calls === 1 ? idle() : Promise.resolve('done')));
    const { agent, provider } = agentOf([call('slow'), 'ok'], { tools: [slow] });
    const retry = { maxAttempts: 2, initialDelayMs: 0 };
    hub.event({ type: 'asked', handler: agent.asHandler(), timeoutMs: 50, retry });
    await hub.start();
    await hub.emit('asked', 'go');
    await clock.advance(60);
    expect(await hub.metrics('asked')).toMatchObject({ completed: 1, retried: 1 });
    provider.assertDone();
    expect(calls).toBe(2);
  });

  test('stores its conversation once, in order, and is not disturbed by a failed attempt', async () => {
    const { hub, clock } = testHub();
    const memory = new ConversationMemory({ transport: hub.transport });
    const tools = [toolOf('look', async () => 'found')];
    const { agent, provider } = agentOf([call('look'), new Error('down'), 'one', 'two'], { tools, memory });
    const handler = agent.asHandler({ conversation: () => 'chat' });
    hub.event({ type: 'asked', handler, retry: { maxAttempts: 2, initialDelayMs: 0 } });
    await hub.start();
    await hub.emit('asked', 'first');
    await clock.advance(1);
    await hub.emit('asked', 'second');
    await clock.advance(1);
    const stored = await memory.getMessages('a', 'chat');
    expect(stored.map(({ content }) => content)).toEqual(['first', '', 'found', 'one', 'second', 'two']);
    expect(provider.calls.at(-1)?.messages).toHaveLength(5);
  });
});

describe('a delegate', () => {
  test('records its turns, which a resumed run does not repeat', async () => {
    const transport = memoryTransport();
    const reached = deferred();
    const helpers = (script: readonly ScriptEntry[], execute: Tool['execute']) => {
      const registry = createAgentRegistry();
      const helper = agentOf(script, { name: 'helper', description: 'helps', tools: [toolOf('look', execute)] });
      registry.register(helper.agent);
      return { helper, registry };
    };
    const delegate = (input: string) => ({ name: 'delegate', arguments: { agentName: 'helper', input } });
    const stuck = helpers([call('look')], () => {
      reached.resolve();
      return idle();
    });
    const first = agentOf([{ toolCalls: [delegate('one')] }], { registry: stuck.registry });
    await withHub(
      transport,
      (hub) => void hub.event({ type: 'asked', handler: first.agent.asHandler() }),
      async (hub) => {
        await hub.emit('asked', 'go');
        await reached.promise;
      },
    );
    const going = helpers(['answer'], async () => 'found');
    const second = agentOf(['ok'], { registry: going.registry });
    await withHub(
      transport,
      (hub) => void hub.event({ type: 'asked', handler: second.agent.asHandler() }),
      (hub) => completed(hub, 'asked'),
    );
    for (const { provider } of [first, stuck.helper, second, going.helper]) provider.assertDone();
    expect(second.provider.calls[0]?.messages.at(-1)?.content).toBe('answer');
  });
});

describe('a pipeline', () => {
  test('resumes within an agent, after a retry too, and shows the turns of each', async () => {
    const { hub, clock } = testHub();
    const look = toolOf('look', async () => 'found');
    const writer = agentOf([call('look'), new Error('down'), 'draft'], { name: 'writer', tools: [look] });
    const critic = agentOf([new Error('down'), 'good'], { name: 'critic' });
    const retry = { maxAttempts: 2, initialDelayMs: 100 };
    const steps = [
      { agent: writer.agent, retry },
      { agent: critic.agent, retry },
    ];
    const pipeline = hub.workflow(createPipeline({ name: 'p', steps }));
    await hub.start();
    const run = await hub.startWorkflow(pipeline, 'go');
    await clock.settle();
    expect(await run.status()).toMatchObject({ status: 'suspended' });
    await clock.advance(1_000);
    await expect(run.result()).resolves.toMatchObject({ output: 'good' });
    const { steps: shown } = await run.status();
    expect(shown.map(({ kind, name, attempt }) => `${kind} ${name} ${attempt}`)).toEqual([
      'model writer / turn 1 1',
      'tool writer / turn 1 / look 1',
      'model writer / turn 2 1',
      'run writer 2',
      'model critic / turn 1 1',
      'run critic 2',
    ]);
    writer.provider.assertDone();
    critic.provider.assertDone();
  });

  test('replayed from its dead letter resumes at the turn that failed', async () => {
    const { hub, clock } = testHub();
    const look = toolOf('look', async () => 'found');
    const writer = agentOf([call('look'), new Error('down'), 'draft'], { name: 'writer', tools: [look] });
    const pipeline = hub.workflow(createPipeline({ name: 'p', steps: [{ agent: writer.agent }] }));
    await hub.start();
    const run = await hub.startWorkflow(pipeline, 'go');
    await clock.settle();
    await expect(run.result()).rejects.toThrow('down');
    await hub.replay(run.runId);
    await clock.settle();
    await expect(run.result()).resolves.toMatchObject({ output: 'draft' });
    writer.provider.assertDone();
  });
});

describe('the function of a workflow', () => {
  test('records the turns of its agents and debates, failures included', async () => {
    const { hub, clock } = testHub();
    const look = toolOf('look', async (_input, ctx) => {
      await ctx.emit('told', ctx.callKey);
      return { from: ctx.eventType, runId: ctx.runId };
    });
    const one = agentOf([call('look'), 'one'], { name: 'one', tools: [look] });
    const two = agentOf(['two', new Error('down')], { name: 'two' });
    const speakers = [agentOf(['for'], { name: 'pro' }), agentOf(['against'], { name: 'con' })];
    const debate = createDebate({ name: 'd', participants: speakers.map(({ agent }) => agent), maxRounds: 1 });
    const told: unknown[] = [];
    hub.event({ type: 'told', handler: ({ payload }) => void told.push(payload) });
    const workflow = hub.workflow(
      createWorkflow({
        name: 'w',
        run: async (ctx) => {
          const [a, b] = await Promise.all([one.agent.run('x', { hubCtx: ctx }), two.agent.run('y', { hubCtx: ctx })]);
          await ctx.step.sleep('pause', 1_000);
          const failed = await two.agent.run('z', { hubCtx: ctx });
          await ctx.step.sleep('again', 1_000);
          const { output } = await debate.run('topic', { hubCtx: ctx });
          await ctx.step.sleep('last', 1_000);
          return { a: a.output, tokens: a.tokenUsage.totalTokens, b: b.output, failed: failed.status, output };
        },
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow(workflow, 'go');
    await clock.advance(4_000);
    await expect(run.result()).resolves.toMatchObject({ a: 'one', tokens: 30, b: 'two', failed: 'failed' });
    for (const { provider } of [one, two, ...speakers]) provider.assertDone();
    expect(told).toHaveLength(1);
    const { steps } = await run.status();
    expect(
      steps
        .filter(({ kind }) => kind === 'model')
        .map(({ name, status }) => `${name} ${status}`)
        .sort(),
    ).toEqual([
      'd / con 1 / turn 1 completed',
      'd / pro 1 / turn 1 completed',
      'one / turn 1 completed',
      'one / turn 2 completed',
      'two / turn 1 completed',
      'two#2 / turn 1 failed',
    ]);
    expect(JSON.parse(String(one.provider.calls[1]?.messages.at(-1)?.content))).toEqual({
      from: 'w',
      runId: run.runId,
    });
  });

  test('replayed from its dead letter repeats the turn whose failure ended the run', async () => {
    const { hub, clock } = testHub();
    const { agent, provider } = agentOf([new Error('down'), 'ok'], { retry: { maxAttempts: 1 } });
    const flow = createWorkflow({
      name: 'flow',
      run: async (ctx) => {
        const { output, error } = await agent.run('go', { hubCtx: ctx });
        if (error !== undefined) throw error;
        return output;
      },
    });
    hub.workflow(flow);
    await hub.start();
    const run = await hub.startWorkflow(flow, null);
    await clock.settle();
    expect(await hub.deadLetters('flow')).toMatchObject([{ id: run.runId, message: 'down' }]);
    await hub.replay(run.runId);
    await clock.settle();
    expect(await run.result()).toBe('ok');
    provider.assertDone();
  });

  test('records no turns in a plain step', async () => {
    const { hub, clock } = testHub();
    const { agent } = agentOf(['ok']);
    const workflow = hub.workflow(
      createWorkflow({
        name: 'w',
        run: ({ step }) => step.run('ask', async (ctx) => (await agent.run('x', { hubCtx: ctx })).output),
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow(workflow, 'go');
    await clock.settle();
    expect((await run.status()).steps.map(({ name }) => name)).toEqual(['ask']);
  });

  test('agents of one conversation take turns, whatever they wait for', async () => {
    const { hub, clock } = testHub();
    const memory = new ConversationMemory({ transport: hub.transport });
    const look = createTool({ name: 'look', description: '', parameters: {}, execute: async () => 'found' });
    const { agent } = agentOf([call('look'), 'one', call('look'), 'two'], { tools: [look], memory });
    const workflow = hub.workflow(
      createWorkflow({
        name: 'w',
        run: async (ctx) => {
          const options = { hubCtx: ctx, conversationId: 'chat' };
          const results = await Promise.all([agent.run('1', options), agent.run('2', options)]);
          await ctx.step.sleep('pause', 1_000);
          return results.map(({ output }) => output);
        },
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow(workflow, 'go');
    await clock.advance(2_000);
    await expect(run.result()).resolves.toEqual(['one', 'two']);
    const stored = await memory.getMessages('a', 'chat');
    expect(stored.map(({ content }) => content)).toEqual(['1', '', 'found', 'one', '2', '', 'found', 'two']);
  });
});
