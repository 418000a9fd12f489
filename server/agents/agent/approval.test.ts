import { describe, expect, test, vi } from 'vitest';
import { deferred, testHub } from '../../hub/hub.fixture.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { NoApproverError } from '../errors.js';
import { ProviderError } from '../model/provider-error.js';
import { createPipeline } from '../multi-agent/create-pipeline.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { fallbackProvider } from '../providers/fallback-provider.js';
import { createTool, type Tool } from '../tools/tool.js';
import type { ApprovalDecided, ApprovalRequest } from './approval.js';

const call = (name: string, args: unknown = {}) => ({ name, arguments: args });
const day = 86_400_000;

function refundTool(executed: unknown[], more: Partial<Tool> = {}): Tool {
  const execute = async (input: unknown) => {
    executed.push(input);
    return 'refunded';
  };
  return { name: 'refund', description: '', parameters: { type: 'object' }, needsApproval: true, ...more, execute };
}

function agentOf(script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}) {
  const provider = scriptedProvider(script);
  return { provider, agent: createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, ...config }) };
}

/** Registers the events of approvals. Requests arrive in the returned list. */
function approvalsOn(hub: Hub, timeoutMs?: number) {
  const requests: ApprovalRequest[] = [];
  const requested = hub.event<ApprovalRequest>({
    type: 'approval.requested',
    handler: ({ payload }) => void requests.push(payload),
  });
  const decided = hub.event<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });
  const approvals = { requested, decided, ...(timeoutMs !== undefined && { timeoutMs }) };
  const decide = async (request: ApprovalRequest | undefined, approved: boolean, reason?: string) =>
    hub.emit(decided, { approvalId: request?.approvalId ?? '', approved, ...(reason !== undefined && { reason }) });
  return { requests, approvals, decide };
}

const lastContents = (provider: { calls: readonly { messages: readonly { content: string }[] }[] }, count: number) =>
  provider.calls
    .at(-1)
    ?.messages.slice(-count)
    .map(({ content }) => content);

describe('an event whose agent needs approval', () => {
  test('goes on after the decision with the provider that answered', async () => {
    const { hub, clock } = testHub();
    const { requests, approvals, decide } = approvalsOn(hub);
    const exhausted = new ProviderError('no quota', { provider: 'p', statusCode: 429, retryable: false });
    const first = scriptedProvider([exhausted]);
    const second = scriptedProvider([{ toolCalls: [call('refund')] }, 'done']);
    const provider = fallbackProvider([{ provider: first }, { provider: second }]);
    const { agent } = agentOf([], { provider, tools: [refundTool([])] });
    const asked = hub.event({ type: 'asked', handler: agent.asHandler({ approvals }) });
    await hub.start();
    await hub.emit(asked, 'refund it');
    await clock.settle();
    await decide(requests[0], true);
    await clock.settle();
    expect(await hub.metrics('asked')).toMatchObject({ completed: 1 });
    first.assertDone();
    second.assertDone();
  });

  test('is suspended until a decision comes, days later, and executes the call once', async () => {
    const { hub, clock } = testHub();
    const { requests, approvals, decide } = approvalsOn(hub);
    const executed: unknown[] = [];
    const { agent, provider } = agentOf([{ toolCalls: [call('refund', { cents: 900 })] }, 'done'], {
      tools: [refundTool(executed)],
    });
    const asked = hub.event({ type: 'asked', handler: agent.asHandler({ approvals }), concurrency: 1 });
    await hub.start();
    const { id } = await hub.emit(asked, 'refund it');
    await clock.settle();
    expect(requests).toEqual([
      { approvalId: expect.any(String), agentName: 'a', runId: id, tool: 'refund', arguments: { cents: 900 } },
    ]);
    expect(await hub.metrics('asked')).toMatchObject({ suspended: 1, active: 0 });
    const waiting = (await hub.getRun(asked, id)).steps.at(-1);
    expect(waiting).toMatchObject({
      kind: 'approval',
      name: 'turn 1 / refund',
      status: 'waiting',
      waitsFor: { event: { type: 'approval.decided', key: requests[0]?.approvalId } },
    });
    const { problems } = await hub.health();
    expect(problems).toContainEqual({ kind: 'approval-waiting', severity: 'warning', eventType: 'asked', count: 1 });
    await clock.advance(3 * day);
    expect(executed).toEqual([]);
    await decide(requests[0], true);
    await decide(requests[0], true);
    await clock.settle();
    expect(executed).toEqual([{ cents: 900 }]);
    expect(await hub.metrics('asked')).toMatchObject({ completed: 1, suspended: 0, retried: 0 });
    expect((await hub.health()).problems.map(({ kind }) => kind)).not.toContain('approval-waiting');
    await decide(requests[0], false);
    await clock.settle();
    expect(requests).toHaveLength(1);
    provider.assertDone();
  });

  test.each<
    [
      string,
      (decide: () => Promise<unknown>, clock: { advance(ms: number): Promise<void> }) => Promise<unknown>,
      string,
    ]
  >([
    ['a refusal', (decide) => decide(), 'Error: not executed: refund was refused: too much'],
    [
      'no decision in time',
      (_decide, clock) => clock.advance(day),
      'Error: not executed: nobody approved refund in time',
    ],
  ])('tells the model of %s', async (_, act, expected) => {
    const { hub, clock } = testHub();
    const { requests, approvals, decide } = approvalsOn(hub, day);
    const executed: unknown[] = [];
    const { agent, provider } = agentOf([{ toolCalls: [call('refund')] }, 'sorry'], { tools: [refundTool(executed)] });
    hub.event({ type: 'asked', handler: agent.asHandler({ approvals }) });
    await hub.start();
    await hub.emit('asked', 'refund it');
    await clock.settle();
    await act(() => decide(requests[0], false, 'too much'), clock);
    await clock.settle();
    expect(lastContents(provider, 1)).toEqual([expected]);
    expect(executed).toEqual([]);
    // Too late.
    await decide(requests[0], true);
    await clock.settle();
    expect(executed).toEqual([]);
    provider.assertDone();
  });

  test('waits for several calls at once, while others run', async () => {
    const { hub, clock } = testHub();
    const { requests, approvals, decide } = approvalsOn(hub);
    const executed: unknown[] = [];
    const look = createTool({
      name: 'look',
      description: '',
      parameters: {},
      execute: async () => void executed.push('look'),
    });
    const calls = [call('refund', { n: 1 }), call('look'), call('refund', { n: 2 }), call('refund', { n: 0 })];
    const needsApproval = (input: unknown): boolean => (input as { n: number }).n > 0;
    const { agent, provider } = agentOf([{ toolCalls: calls }, 'done'], {
      tools: [refundTool(executed, { needsApproval }), look],
      maxParallelToolCalls: 1,
    });
    hub.event({ type: 'asked', handler: agent.asHandler({ approvals }) });
    await hub.start();
    await hub.emit('asked', 'go');
    await clock.settle();
    expect(executed).toEqual(['look', { n: 0 }]);
    expect(requests.map(({ arguments: input }) => input)).toEqual([{ n: 1 }, { n: 2 }]);
    await decide(requests[1], true);
    await clock.settle();
    expect(executed).toEqual(['look', { n: 0 }, { n: 2 }]);
    await decide(requests[0], false);
    await clock.settle();
    expect(executed).toHaveLength(3);
    expect(lastContents(provider, 4)).toEqual([
      'Error: not executed: refund was refused',
      'null',
      'refunded',
      'refunded',
    ]);
    provider.assertDone();
  });

  test.each<[string, (tool: Tool) => Tool[], string]>([
    ['is gone', () => [], 'there is no tool "refund"'],
    [
      'takes other arguments',
      (tool) => [{ ...tool, parameters: { type: 'object', required: ['order'] } }],
      "arguments must have required property 'order'",
    ],
  ])('tells the model that the tool %s when the decision comes, in another process', async (_, change, expected) => {
    const first = testHub();
    const { requests, approvals } = approvalsOn(first.hub);
    const executed: unknown[] = [];
    const tool = refundTool(executed);
    const old = agentOf([{ toolCalls: [call('refund', { cents: 1 })] }], { tools: [tool] });
    first.hub.event({ type: 'asked', handler: old.agent.asHandler({ approvals }) });
    await first.hub.start();
    await first.hub.emit('asked', 'go');
    await first.clock.settle();
    await first.hub.stop({ drainMs: 0 });
    const { hub } = testHub({ transport: first.transport });
    const { decide } = approvalsOn(hub);
    const { agent, provider } = agentOf(['ok'], { tools: change(tool) });
    hub.event({ type: 'asked', handler: agent.asHandler({ approvals }) });
    await hub.start();
    await decide(requests[0], true);
    await first.clock.settle();
    expect(lastContents(provider, 1)).toEqual([expect.stringContaining(expected)]);
    expect(executed).toEqual([]);
    expect(await hub.metrics('asked')).toMatchObject({ completed: 1 });
  });

  test.each<[string, Tool['needsApproval']]>([
    ['always', true],
    ['by its rule', async () => true],
  ])('tells the model that an interrupted call needs approval now, %s', async (_, needsApproval) => {
    const first = testHub();
    const reached = deferred();
    const executed: unknown[] = [];
    const isFree = createTool({
      name: 'look',
      description: '',
      parameters: {},
      execute: async () => executed.push('look'),
    });
    const stuck = {
      ...refundTool([], { needsApproval: false }),
      execute: () => {
        reached.resolve();
        return new Promise<never>(() => {});
      },
    };
    const calls = { toolCalls: [call('look'), call('refund', { cents: 1 })] };
    const old = agentOf([calls], { tools: [isFree, stuck] });
    const { approvals: former } = approvalsOn(first.hub);
    first.hub.event({ type: 'asked', handler: old.agent.asHandler({ approvals: former }) });
    await first.hub.start();
    await first.hub.emit('asked', 'go');
    await reached.promise;
    // The result of the other call is recorded.
    await first.clock.settle();
    await first.hub.stop({ drainMs: 0 });
    const { hub } = testHub({ transport: first.transport });
    const { requests, approvals, decide } = approvalsOn(hub);
    const asked = vi.fn(needsApproval === true ? undefined : (needsApproval as () => Promise<boolean>));
    const rule = needsApproval === true ? true : asked;
    const tools = [{ ...isFree, needsApproval: rule }, refundTool(executed, { needsApproval: rule })];
    const { agent, provider } = agentOf([{ toolCalls: [call('refund', { cents: 1 })] }, 'done'], { tools });
    hub.event({ type: 'asked', handler: agent.asHandler({ approvals }) });
    await hub.start();
    await first.clock.settle();
    expect(provider.calls[0]?.messages.slice(-2).map(({ content }) => content)).toEqual([
      '1',
      expect.stringMatching(
        /^Error: interrupted: the call may or may not have been executed, and refund needs approval/,
      ),
    ]);
    expect(requests).toMatchObject([{ tool: 'refund' }]);
    await decide(requests[0], true);
    await first.clock.settle();
    expect(executed).toEqual(['look', { cents: 1 }]);
    // Neither for a call with a recorded result nor for a request that is recorded.
    if (rule !== true) expect(asked).toHaveBeenCalledTimes(2);
    provider.assertDone();
  });

  test('lets a delegate wait, and refuses one that the code of a tool runs', async () => {
    const { hub, clock } = testHub();
    const { requests, approvals, decide } = approvalsOn(hub);
    const executed: unknown[] = [];
    const registry = createAgentRegistry();
    const helper = agentOf([{ toolCalls: [call('refund')] }, 'did it'], {
      name: 'helper',
      tools: [refundTool(executed)],
    });
    registry.register(helper.agent);
    const direct = createTool({
      name: 'direct',
      description: '',
      parameters: {},
      execute: (_input: unknown, ctx) => ctx.delegate('helper', 'x'),
    });
    const script = [{ toolCalls: [call('delegate', { agentName: 'helper', input: 'x' }), call('direct')] }, 'done'];
    const { agent, provider } = agentOf(script, { registry, tools: [direct] });
    hub.event({ type: 'asked', handler: agent.asHandler({ approvals }) });
    await hub.start();
    await hub.emit('asked', 'go');
    await clock.settle();
    expect(requests).toMatchObject([{ agentName: 'helper', tool: 'refund' }]);
    await decide(requests[0], true);
    await clock.settle();
    expect(lastContents(provider, 2)).toEqual(['did it', expect.stringContaining('nobody can decide')]);
    expect(executed).toHaveLength(1);
    provider.assertDone();
    helper.provider.assertDone();
  });
});

test('a pipeline and the function of a workflow wait for approvals as well', async () => {
  const { hub, clock } = testHub();
  const { requests, approvals, decide } = approvalsOn(hub);
  const executed: unknown[] = [];
  const script = [{ toolCalls: [call('refund')] }, 'done'];
  const first = agentOf(script, { tools: [refundTool(executed)] });
  const second = agentOf(script, { tools: [refundTool(executed)] });
  const pipeline = hub.workflow(createPipeline({ name: 'p', steps: [{ agent: first.agent }], approvals }));
  const workflow = hub.workflow(
    createWorkflow({
      name: 'w',
      run: async (ctx) => {
        if (ctx.input === 'rest') return ctx.step.sleep('long', 1);
        return (await second.agent.run('x', { hubCtx: ctx, approvals })).output;
      },
    }),
  );
  await hub.start();
  const runs = [await hub.startWorkflow(pipeline, 'x'), await hub.startWorkflow(workflow, 'x')];
  await clock.settle();
  expect(requests).toHaveLength(2);
  // The count does not depend on the runs that an introspection lists.
  for (let run = 0; run < 10; run += 1) await hub.startWorkflow(workflow, 'rest');
  const { problems } = await hub.health();
  expect(problems.filter(({ kind }) => kind === 'approval-waiting').map(({ workflow: name }) => name)).toEqual([
    'p',
    'w',
  ]);
  for (const request of requests) await decide(request, true);
  await clock.settle();
  await expect(runs[0]?.result()).resolves.toMatchObject({ output: 'done' });
  await expect(runs[1]?.result()).resolves.toBe('done');
  expect(executed).toHaveLength(2);
});

describe('a hub', () => {
  const tools = [refundTool([])];

  test.each<[string, (hub: Hub) => void]>([
    ['an event', (hub) => void hub.event({ type: 'asked', handler: agentOf([], { tools }).agent.asHandler() })],
    [
      'a pipeline',
      (hub) => void hub.workflow(createPipeline({ name: 'p', steps: [{ agent: agentOf([], { tools }).agent }] })),
    ],
    [
      'a delegate',
      (hub) => {
        const registry = createAgentRegistry();
        registry.register(agentOf([], { name: 'helper', tools }).agent);
        hub.event({ type: 'asked', handler: agentOf([], { registry }).agent.asHandler() });
      },
    ],
  ])('does not start if nobody can decide on the calls of %s', async (_, register) => {
    const { hub } = testHub();
    register(hub);
    await expect(hub.start()).rejects.toThrow(NoApproverError);
  });

  test.each<[string, { decided: string; key?: (payload: unknown) => string }]>([
    ['without a key', { decided: 'decided' }],
    ['with another key', { decided: 'decided', key: () => 'x' }],
    ['that is not registered', { decided: 'deciden' }],
  ])('does not start with a decision event %s', async (_, { decided, key }) => {
    const { hub } = testHub();
    hub.event({ type: 'requested' });
    hub.event({ type: 'decided', ...(key && { key }) });
    const approvals = { requested: 'requested', decided };
    hub.event({ type: 'asked', handler: agentOf([], { tools }).agent.asHandler({ approvals }) });
    await expect(hub.start()).rejects.toThrow(/decide/);
  });
});

describe('onApproval', () => {
  test.each<[string, () => unknown, string, number]>([
    ['approves', () => ({ approved: true }), 'refunded', 1],
    ['refuses', async () => ({ approved: false, reason: 'no' }), 'Error: not executed: refund was refused: no', 0],
    ['returns no boolean', () => ({ approved: 'yes' }), 'Error: not executed: refund was refused', 0],
    ['returns nothing', () => undefined, 'Error: not executed: refund was refused', 0],
    [
      'throws',
      () => {
        throw new Error('away');
      },
      'Error: not executed: refund was refused: the approval failed: away',
      0,
    ],
  ])('of a run without a hub: %s', async (_, onApproval, expected, executions) => {
    const executed: unknown[] = [];
    const { agent, provider } = agentOf([{ toolCalls: [call('refund', { n: 1 })] }, 'done'], {
      tools: [refundTool(executed)],
    });
    const decide = vi.fn(onApproval as never);
    const { runId } = await agent.run('x', { onApproval: decide });
    expect(decide).toHaveBeenCalledWith({
      approvalId: expect.any(String),
      agentName: 'a',
      runId,
      tool: 'refund',
      arguments: { n: 1 },
    });
    expect(lastContents(provider, 1)).toEqual([expected]);
    expect(executed).toHaveLength(executions);
  });

  test('is not asked about calls that cannot be executed, and a rule that throws asks', async () => {
    const onApproval = vi.fn(() => ({ approved: true }));
    const rule = () => {
      throw new Error('no rule');
    };
    const parameters = { type: 'object', properties: { n: { type: 'number' } } };
    const tools = [refundTool([], { parameters, needsApproval: rule })];
    const calls = [call('refund', { n: 'x' }), call('refund', { n: 1 })];
    const { agent, provider } = agentOf([{ toolCalls: calls }, 'done'], { tools });
    await agent.run('x', { onApproval });
    expect(onApproval).toHaveBeenCalledTimes(1);
    expect(lastContents(provider, 2)).toEqual([expect.stringContaining('arguments.n must be number'), 'refunded']);
  });

  test('is required by a run without a hub', async () => {
    const { agent } = agentOf([], { tools: [refundTool([])] });
    await expect(agent.run('x')).rejects.toThrow(NoApproverError);
    await expect(agent.run('x', { approvals: { requested: 'r', decided: 'd' } })).rejects.toThrow(/onApproval/);
  });
});
