import { describe, expect, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { deferred } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { AgentStreamEvent } from '../agent/agent-stream.js';
import type { ApprovalDecided, ApprovalRequest } from '../agent/approval.js';
import type { ToolDecision, TurnPlan } from '../agent/hooks.js';
import type { PublishedAgentEvent } from '../agent/published-events.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { ProviderError } from '../model/provider-error.js';
import { fallbackProvider } from '../providers/fallback-provider.js';
import { add, agentOf, callAdd } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';

const text = (content: string) => ({ type: 'object', properties: { [content]: { type: 'string' } } });
const find = createTool({ name: 'find', description: '', parameters: text('for'), execute: async () => 'found' });

describe('systemPrompt', () => {
  test('is what a function returns for the context of the run', async () => {
    const { agent, provider } = agentOf(['ok'], {
      systemPrompt: async ({ payload, agentName }) => `You serve ${String(payload)} as ${agentName}.`,
    });
    await agent.run('hi', { payload: 'acme' });
    expect(provider.calls[0]?.messages[0]).toEqual({ role: 'system', content: 'You serve acme as calculator.' });
  });

  test('has the format of a typed answer', async () => {
    const { agent, provider } = agentOf(['{"a":1}'], {
      systemPrompt: () => 'Answer.',
      outputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
    });
    expect((await agent.run('hi')).status).toBe('completed');
    expect(provider.calls[0]?.messages[0]?.content).toMatch(/^Answer\.\n\nAnswer with JSON only/);
  });

  test('fails the run unless the function returns a string', async () => {
    const { agent } = agentOf([], { systemPrompt: (() => 5) as never });
    const { status, error } = await agent.run('hi');
    expect([status, error?.message]).toEqual([
      'failed',
      'the result of systemPrompt of agent "calculator" must be a string, got "number"',
    ]);
  });
});

describe('tools', () => {
  test('are those that a function returns for the turn', async () => {
    const starts: unknown[] = [];
    const { agent, provider } = agentOf([callAdd(1, 2), callAdd(3, 4), 'ok'], {
      tools: ({ turn, messages, usage }) => {
        starts.push([turn, messages.length, usage.totalTokens > 0]);
        return turn === 1 ? [add] : [find];
      },
    });
    const { toolCalls } = await agent.run('hi');
    expect(starts).toEqual([
      [1, 2, false],
      [2, 4, true],
      [3, 6, true],
    ]);
    expect(provider.calls.map(({ options }) => options.tools?.map(({ name }) => name))).toEqual([
      ['add'],
      ['find'],
      ['find'],
    ]);
    expect(toolCalls.map(({ result, error }) => error ?? result)).toEqual([
      3,
      'there is no tool "add"; available: find',
    ]);
  });

  test('may not need approval if nobody can decide', async () => {
    const { agent } = agentOf(['ok'], { tools: () => [createTool({ ...find, needsApproval: true })] });
    expect((await agent.run('hi')).error).toMatchObject({ code: 'ERR_NO_APPROVER' });
  });
});

describe('prepareTurn', () => {
  test('changes model, tools, tool choice and system prompt of one turn', async () => {
    const plans: (TurnPlan | undefined)[] = [
      {
        model: { model: 'large', temperature: 0 },
        tools: ['find'],
        toolChoice: { tool: 'find' },
        instructions: 'Find.',
      },
      undefined,
      { toolChoice: 'none' },
    ];
    const { agent, provider } = agentOf([{ toolCalls: [{ name: 'find', arguments: {} }] }, callAdd(1, 2), 'ok'], {
      tools: [add, find],
      prepareTurn: ({ turn }) => plans[turn - 1],
    });
    const { messages, status } = await agent.run('hi');
    const seen = provider.calls.map(({ messages: [system], options: { model, temperature, tools, toolChoice } }) => [
      system?.content,
      model,
      temperature,
      tools?.map(({ name }) => name),
      toolChoice,
    ]);
    expect(seen).toEqual([
      ['Find.', 'large', 0, ['find'], { tool: 'find' }],
      ['You add.', 'm', undefined, ['add', 'find'], undefined],
      ['You add.', 'm', undefined, ['add', 'find'], 'none'],
    ]);
    expect([status, messages[0]?.content]).toEqual(['completed', 'You add.']);
  });

  test('refuses calls of tools that the turn does not offer', async () => {
    const { agent } = agentOf([callAdd(1, 2), 'ok'], { tools: [add, find], prepareTurn: () => ({ tools: ['find'] }) });
    expect((await agent.run('hi')).toolCalls[0]?.error).toBe('there is no tool "add"; available in this turn: find');
  });

  test('uses another provider, and continues with that of the agent if it fails', async () => {
    const failing = scriptedProvider([new ProviderError('down', { provider: 'other', retryable: true })]);
    const { agent, provider } = agentOf(['ok', 'ok'], {
      prepareTurn: () => ({ provider: failing, model: { model: 'other' } }),
    });
    expect(await agent.run('hi')).toMatchObject({ status: 'completed', output: 'ok' });
    expect([failing.calls[0]?.options.model, provider.calls[0]?.options.model]).toEqual(['other', 'm']);
  });

  test('leaves the model of a provider that took the place of the first', async () => {
    const first = scriptedProvider([new ProviderError('down', { provider: 'first', retryable: true })]);
    const second = scriptedProvider(['ok']);
    const { agent } = agentOf([], {
      provider: fallbackProvider([{ provider: first }, { provider: second, model: { model: 'second' } }]),
      prepareTurn: () => ({ model: { model: 'large' } }),
    });
    await agent.run('hi');
    expect([first.calls[0]?.options.model, second.calls[0]?.options.model]).toEqual(['large', 'second']);
  });

  test.each<[unknown, RegExp]>([
    [{ tools: ['fnd'] }, /tools of the result of prepareTurn of agent "calculator" must be of add, got "fnd"/],
    [{ model: { model: '' } }, /model\.model .* must be a non-empty string/],
    [{ model: { toolChoice: 'none' } }, /must be omitted: set tools and toolChoice beside model/],
    [{ toolChoice: { tool: 'find' } }, /toolChoice\.tool .* must be a tool of the turn/],
    [{ instruction: 'x' }, /must be one of model, provider, tools, toolChoice, instructions/],
    ['x', /must be an object/],
  ])('fails the run for %j', async (plan, message) => {
    const { agent, provider } = agentOf(['ok'], { prepareTurn: () => plan as TurnPlan });
    const { status, error } = await agent.run('hi');
    expect([status, error?.message]).toEqual(['failed', expect.stringMatching(message)]);
    expect(provider.calls).toEqual([]);
  });
});

describe('beforeTool', () => {
  const run = async (decision: ToolDecision | undefined, config: Partial<AgentConfig> = {}) => {
    const inputs: unknown[] = [];
    const tool = createTool({
      ...add,
      execute: async (input: { a: number; b: number }) => {
        inputs.push(input);
        return input.a + input.b;
      },
    });
    const { agent, provider } = agentOf([callAdd(1, 2), 'ok'], {
      tools: [tool],
      beforeTool: () => decision,
      ...config,
    });
    const result = await agent.run('hi');
    return {
      result,
      inputs,
      sent: provider.calls[1]?.messages.at(-1)?.content,
      calls: provider.calls[1]?.messages.at(-2)?.toolCalls,
    };
  };

  test('receives the call, with its context', async () => {
    const beforeTool = vi.fn<NonNullable<AgentConfig['beforeTool']>>();
    await run(undefined, { beforeTool });
    expect(beforeTool).toHaveBeenCalledExactlyOnceWith({
      turn: 1,
      tool: 'add',
      input: { a: 1, b: 2 },
      ctx: expect.anything(),
    });
    expect(beforeTool.mock.calls[0]?.[0].ctx.callKey).toHaveLength(43);
  });

  test('refuses a call', async () => {
    const { inputs, sent } = await run({ refuse: 'not today' });
    expect([inputs, sent]).toEqual([[], 'Error: not today']);
  });

  test('replaces the arguments, and leaves those that the model wrote in the transcript', async () => {
    const { inputs, sent, calls } = await run({ input: { a: 5, b: 6 } });
    expect([inputs, sent]).toEqual([[{ a: 5, b: 6 }], '11']);
    expect(calls?.[0]?.arguments).toBe('{"a":1,"b":2}');
  });

  test('replaces the result', async () => {
    const { inputs, sent, result } = await run({ result: { sum: 3 } });
    expect([inputs, sent, result.toolCalls[0]?.result]).toEqual([[], '{"sum":3}', { sum: 3 }]);
  });

  test.each<[string, NonNullable<AgentConfig['beforeTool']>]>([
    [
      'throws',
      () => {
        throw new Error('no policy server');
      },
    ],
    ['replaces the arguments by invalid ones', () => ({ input: { a: 'x' } })],
    ['returns two decisions', () => ({ refuse: 'x', input: {} }) as unknown as ToolDecision],
  ])('refuses the call if it %s', async (_, beforeTool) => {
    const error = vi.fn();
    const logger = { debug() {}, info() {}, warn() {}, error };
    const { inputs, sent } = await run(undefined, { beforeTool, logger });
    expect([inputs, sent]).toEqual([[], expect.stringMatching(/^Error: not executed: the check of the call failed: /)]);
    expect(error).toHaveBeenCalledOnce();
  });

  test('decides before an approval is asked for, which sees its arguments', async () => {
    const asked: unknown[] = [];
    const tool = createTool({ ...add, needsApproval: true });
    const { agent } = agentOf(
      [{ toolCalls: [callAdd(1, 2).toolCalls[0], callAdd(3, 4).toolCalls[0]] } as ScriptEntry, 'ok'],
      {
        tools: [tool],
        beforeTool: ({ input }) => ((input as { a: number }).a === 1 ? { refuse: 'no' } : { input: { a: 0, b: 0 } }),
      },
    );
    const { toolCalls } = await agent.run('hi', {
      onApproval: async (request) => {
        asked.push(request.arguments);
        return { approved: true };
      },
    });
    expect(asked).toEqual([{ a: 0, b: 0 }]);
    expect(toolCalls.map(({ error, result }) => error ?? result)).toEqual(['no', 0]);
  });
});

describe('afterModel', () => {
  test('replaces the text, in the transcript and the result', async () => {
    const { agent } = agentOf(['call 555-1234'], {
      afterModel: ({ content }) => ({ content: content.replace(/[\d-]+/, '[number]') }),
    });
    const { output, messages } = await agent.run('hi');
    expect([output, messages.at(-1)?.content]).toEqual(['call [number]', 'call [number]']);
  });

  test('refuses a text, which is no output, and the model receives the reason', async () => {
    const { agent, provider } = agentOf(['bad', 'worse'], {
      afterModel: () => ({ refuse: 'cite a source' }),
      maxIterations: 2,
    });
    expect(await agent.run('hi')).toMatchObject({ status: 'max_iterations', output: '' });
    expect(provider.calls[1]?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: 'bad' },
      { role: 'user', content: 'Your last answer was not accepted: cite a source' },
    ]);
  });

  test('refuses calls, and executes none', async () => {
    const { agent, provider } = agentOf([callAdd(1, 2), 'ok'], {
      afterModel: ({ toolCalls }) => (toolCalls.length > 0 ? { refuse: 'answer at once' } : undefined),
    });
    expect(await agent.run('hi')).toMatchObject({ output: 'ok', toolCalls: [{ error: 'answer at once' }] });
    expect(provider.calls[1]?.messages.at(-1)?.role).toBe('tool');
  });

  test('replaces calls', async () => {
    const { agent } = agentOf([callAdd(1, 2), 'ok'], {
      afterModel: ({ toolCalls }) => ({
        toolCalls: toolCalls.map((call) => ({ ...call, arguments: '{"a":2,"b":2}' })),
      }),
    });
    expect((await agent.run('hi')).toolCalls[0]?.result).toBe(4);
  });

  test('ends the run with the error that it throws', async () => {
    const tripwire = new Error('off limits');
    const { agent } = agentOf(['x'], { afterModel: () => Promise.reject(tripwire) });
    expect(await agent.run('hi')).toMatchObject({ status: 'failed', error: tripwire, tokenUsage: { totalTokens: 15 } });
  });

  test('holds a streamed text back until it has accepted it', async () => {
    const { agent } = agentOf(['bad', 'good'], {
      afterModel: async ({ content }) => (content === 'bad' ? { refuse: 'no' } : { content: 'better' }),
    });
    const events: AgentStreamEvent[] = [];
    for await (const event of agent.stream('hi')) events.push(event);
    expect(events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []))).toEqual(['better']);
  });
});

describe('calls of an answer that afterModel refused', () => {
  const afterModel: AgentConfig['afterModel'] = ({ toolCalls }) =>
    toolCalls.some((call) => call.arguments.includes('9')) ? { refuse: 'no nines' } : undefined;
  const shown = ['turn-end', 'tool-call', 'tool-result', 'turn-end', 'text-delta', 'turn-end'];

  test('are not streamed, and neither are their results', async () => {
    const { agent } = agentOf([callAdd(9, 9), callAdd(1, 2), 'ok'], { afterModel });
    const events: AgentStreamEvent[] = [];
    for await (const event of agent.stream('hi')) events.push(event);
    expect(events.map(({ type }) => type).toSorted()).toEqual([...shown, 'run-end'].toSorted());
    expect(JSON.stringify(events.filter(({ type }) => type !== 'run-end'))).not.toContain('nines');
  });

  test('are not published, and neither are their results', async () => {
    const hub = createHub();
    const { agent } = agentOf([callAdd(9, 9), callAdd(1, 2), 'ok'], { afterModel });
    hub.workflow(createWorkflow({ name: 'w', run: (ctx) => agent.run('hi', { hubCtx: ctx, publish: true }) }));
    await hub.start();
    const { runId } = await hub.startWorkflow('w', {});
    const events: PublishedAgentEvent[] = [];
    for await (const entry of hub.stream<PublishedAgentEvent>(runId))
      if (entry.type === 'data') events.push(entry.data);
    await hub.stop();
    expect(events.map(({ type }) => type).toSorted()).toEqual(shown.toSorted());
    expect(JSON.stringify(events)).not.toContain('nines');
  });
});

describe('a durable run', () => {
  test('counts the tokens of an answer that a hook failed to decide about, over attempts', async () => {
    const hub = createHub();
    const { agent, provider } = agentOf(['x', 'x', 'x'], {
      tools: [],
      tokenBudget: 40,
      afterModel: () => {
        throw new Error('no moderation');
      },
    });
    hub.event({ type: 'asked', handler: agent.asHandler(), retry: { maxAttempts: 3, initialDelayMs: 0 } });
    await hub.start();
    await hub.emit('asked', 'hi');
    await expect.poll(async () => (await hub.metrics('asked')).failed).toBe(1);
    const [failure] = await hub.failures('asked');
    await hub.stop();
    expect([provider.calls.length, failure?.message]).toEqual([2, expect.stringContaining('token_budget_exceeded')]);
  });

  test('asks nothing about the calls of a refused answer when it replays', async () => {
    const hub = createHub();
    const [begun, answered] = [deferred(), deferred()];
    const counts = { tools: 0, tool: 0, approval: 0, answer: 0 };
    const { agent: scripted, provider } = agentOf([callAdd(1, 2), 'ok']);
    const agent = createAgent({
      name: scripted.name,
      systemPrompt: '',
      provider: {
        async chat(...args) {
          begun.resolve();
          await answered.promise;
          return provider.chat(...args);
        },
      },
      model: { model: 'm' },
      tools: () => {
        counts.tools += 1;
        const needsApproval = () => {
          counts.approval += 1;
          return true;
        };
        return [createTool({ ...add, needsApproval })];
      },
      beforeTool: () => {
        counts.tool += 1;
        return undefined;
      },
      afterModel: ({ turn }) => {
        counts.answer += 1;
        return turn === 1 ? { refuse: 'answer at once' } : undefined;
      },
    });
    const requested = hub.event<ApprovalRequest>({ type: 'requested', handler: () => {} });
    const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
    hub.event({ type: 'asked', handler: agent.asHandler({ approvals: { requested, decided } }) });
    await hub.start();
    await hub.emit('asked', 'hi');
    await begun.promise;
    // The delivery ends after it has recorded the answer.
    await hub.pause({ type: 'asked' }, { reason: 'too expensive', by: 'ada' });
    answered.resolve();
    await expect.poll(async () => (await hub.metrics('asked')).active).toBe(0);
    expect(counts).toEqual({ tools: 1, tool: 0, approval: 0, answer: 1 });
    await hub.resume({ type: 'asked' }, { by: 'ada' });
    await expect.poll(async () => (await hub.metrics('asked')).completed).toBe(1);
    await hub.stop();
    expect(counts).toEqual({ tools: 2, tool: 0, approval: 0, answer: 2 });
    expect(provider.calls[1]?.messages.at(-1)?.content).toBe('Error: answer at once');
  });

  test('decides once: another process repeats what the record says', async () => {
    const transport = memoryTransport();
    const counts = { prompt: 0, plan: 0, tool: 0, answer: 0 };
    const results: unknown[] = [];
    const prompts: unknown[] = [];
    const start = async (suffix: string, isCrashing: boolean) => {
      const provider = scriptedProvider(isCrashing ? [callAdd(1, 2)] : ['done']);
      const agent = createAgent({
        name: 'a',
        provider,
        model: { model: 'm' },
        systemPrompt: () => {
          counts.prompt += 1;
          return `prompt ${suffix}`;
        },
        prepareTurn: ({ turn }) => {
          counts.plan += 1;
          return { model: { model: `model ${suffix} ${turn}` } };
        },
        tools: () => [
          createTool({
            ...add,
            execute: async ({ a, b }: { a: number; b: number }) => {
              if (isCrashing) return new Promise<never>(() => {});
              results.push(a + b);
              return a + b;
            },
          }),
        ],
        beforeTool: () => {
          counts.tool += 1;
          return { input: { a: 10, b: isCrashing ? 1 : 2 } };
        },
        afterModel: ({ content }) => {
          counts.answer += 1;
          return content === '' ? undefined : { content: `${content} ${suffix}` };
        },
      });
      const hub = createHub({ transport });
      hub.workflow(
        createWorkflow({ name: 'w', run: (ctx) => agent.run('hi', { hubCtx: ctx }).then(({ output }) => output) }),
      );
      await hub.start();
      return { hub, provider };
    };
    const first = await start('one', true);
    const { runId } = await first.hub.startWorkflow('w', {});
    await expect.poll(() => counts.tool).toBe(1);
    await expect.poll(() => first.provider.calls.length).toBe(1);
    await expect.poll(async () => (await first.hub.getRun('w', runId)).steps.length).toBeGreaterThan(0);
    await first.hub.stop({ drainMs: 0 });
    const { hub, provider } = await start('two', false);
    const output = await hub.workflowHandle('w', runId).result();
    prompts.push(provider.calls[0]?.messages[0]?.content);
    await hub.stop();
    expect(results).toEqual([11]);
    expect([output, prompts]).toEqual(['done two', ['prompt one']]);
    expect(counts).toEqual({ prompt: 1, plan: 2, tool: 1, answer: 2 });
    expect(provider.calls.map(({ options }) => options.model)).toEqual(['model two 2']);
  });
});
