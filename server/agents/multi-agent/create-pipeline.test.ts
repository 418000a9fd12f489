import { describe, expect, test } from 'vitest';
import type { HandlerCtx } from '../../hub/events/context.js';
import { testHub } from '../../hub/hub.fixture.js';
import type { ScriptEntry } from '../../testing/scripted-provider.js';
import type { AgentContext } from '../agent/agent-context.js';
import type { AgentConfig } from '../create-agent.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import { createPipeline, type PipelineConfig } from './create-pipeline.js';
import { createAgentRegistry } from './delegation.js';

const member = (name: string, script: readonly ScriptEntry[] = [], config: Partial<AgentConfig> = {}) =>
  agentOf(script, { name, systemPrompt: '', tools: [], ...config });

const stepsOf = (...members: readonly ReturnType<typeof member>[]) => members.map(({ agent }) => ({ agent }));

/** A hub that runs this pipeline. */
async function started(config: PipelineConfig) {
  const { hub, clock, transport } = testHub();
  const followUps: HandlerCtx[] = [];
  for (const type of ['ok', 'bad', 'done']) hub.event({ type, handler: (ctx) => followUps.push(ctx) });
  const pipeline = hub.workflow(createPipeline(config));
  await hub.start();
  return { hub, clock, transport, pipeline, followUps };
}

async function run(config: PipelineConfig, payload: unknown): Promise<unknown> {
  const { hub, pipeline } = await started(config);
  return (await hub.startWorkflow(pipeline, payload)).result();
}

describe('the input', () => {
  test.each([
    ['a string payload', 'hello', 'hello'],
    ['payload.input before payload.output', { output: 'no', input: 'hello' }, 'hello'],
    ['the output of an earlier result', { agentName: 'a', output: 'hello' }, 'hello'],
    ['the JSON of any other payload', { input: 7, output: null }, '{"input":7,"output":null}'],
    ['the JSON of null', null, 'null'],
  ])('of the first agent is %s', async (_, payload, input) => {
    const { agent, provider } = member('a', ['ok']);
    await run({ name: 'p', steps: [{ agent }] }, payload);
    expect(provider.calls[0]?.messages).toEqual([{ role: 'user', content: input }]);
  });

  test('of a later agent is the answer of the previous one', async () => {
    const triage = member('triage', ['a refund']);
    const draft = member('draft', ['Dear customer']);
    const result = await run({ name: 'p', steps: stepsOf(triage, draft) }, { input: 'my teapot broke' });
    expect(draft.provider.calls[0]?.messages).toEqual([{ role: 'user', content: 'a refund' }]);
    expect(result).toMatchObject({ agentName: 'draft', output: 'Dear customer', status: 'completed' });
  });

  test('is returned by inputMapper, from the payload first and from the whole result later', async () => {
    const payloads: unknown[] = [];
    const inputMapper = (payload: unknown): string => {
      payloads.push(payload);
      return `mapped ${payloads.length}`;
    };
    const [one, two] = [member('one', ['first']), member('two', ['second'])];
    const steps = [one, two].map(({ agent }) => ({ agent, inputMapper }));
    await run({ name: 'p', steps }, { ticket: 7 });
    expect(payloads).toEqual([
      { ticket: 7 },
      expect.objectContaining({
        agentName: 'one',
        output: 'first',
        status: 'completed',
        tokenUsage: expect.anything(),
      }),
    ]);
    expect(two.provider.calls[0]?.messages).toEqual([{ role: 'user', content: 'mapped 2' }]);
  });

  test('must be a string', async () => {
    const { agent } = member('a');
    const inputMapper = (async () => 'late') as never; // wrong on purpose: the compiler rejects it
    await expect(run({ name: 'p', steps: [{ agent, inputMapper }] }, 1)).rejects.toThrow(
      'the result of inputMapper of step "a" of pipeline "p" must be a string or a list of parts, got an object',
    );
  });
});

describe('an agent referred to by name', () => {
  test('is looked up when its step runs', async () => {
    const registry = createAgentRegistry();
    const { hub, pipeline } = await started({ name: 'p', registry, steps: [{ agent: 'late' }] });
    registry.register(member('late', ['here']).agent);
    expect(await (await hub.startWorkflow(pipeline, 'x')).result()).toMatchObject({ output: 'here' });
  });

  test('fails the run without a retry if it is not registered', async () => {
    const registry = createAgentRegistry();
    registry.register(member('triage').agent);
    registry.register(member('draft').agent);
    const { hub, pipeline } = await started({ name: 'p', registry, steps: [{ agent: 'tirage', retry: {} }] });
    const handle = await hub.startWorkflow(pipeline, 'x');
    await expect(handle.result()).rejects.toMatchObject({
      failure: {
        name: 'UnknownAgentError',
        message: 'agent "tirage" is not registered: registered are "triage", "draft"',
      },
    });
    expect((await handle.status()).attempt).toBe(1);
  });
});

describe('a run that does not complete', () => {
  const noop = createTool({ name: 'noop', description: '', parameters: {}, execute: async () => null });
  const callNoop = { toolCalls: [{ name: 'noop' }] };

  test.each<[string, ScriptEntry[], Partial<AgentConfig>, number]>([
    ['failed', [new Error('down'), new Error('down')], {}, 2],
    ['max_iterations', [callNoop], { maxIterations: 1 }, 1],
    ['token_budget_exceeded', [callNoop], { tokenBudget: 12 }, 1],
  ])('with status %s fails the workflow, and later agents do not run', async (status, script, config, attempts) => {
    const broken = member('broken', script, { tools: [noop], ...config });
    const next = member('next');
    const { hub, clock, pipeline, followUps } = await started({
      name: 'p',
      steps: [{ agent: broken.agent, retry: { maxAttempts: 2, initialDelayMs: 0 } }, ...stepsOf(next)],
      onSuccess: 'ok',
      onFailure: 'bad',
      onComplete: 'done',
    });
    const handle = await hub.startWorkflow(pipeline, 'x');
    await clock.advance(1);
    const error = {
      name: 'AgentRunError',
      message: expect.stringContaining(`agent "broken" ended with status ${status}`),
    };
    await expect(handle.result()).rejects.toMatchObject({ failure: error });
    const { attempt, steps } = await handle.status();
    expect(attempt).toBe(attempts);
    expect(steps.filter(({ kind }) => kind === 'run')).toMatchObject([{ status: 'failed' }, { status: 'waiting' }]);
    expect(next.provider.calls).toEqual([]);
    const event = {
      id: handle.runId,
      kind: 'workflow',
      type: 'p',
      service: 'hub',
      requestId: handle.runId,
      step: 'broken',
      attempt: attempts,
    };
    expect(followUps.map(({ eventType, payload }) => [eventType, payload])).toEqual([
      ['bad', { error: { ...error, code: 'ERR_AGENT_RUN' }, event, payload: 'x' }],
      ['done', { status: 'failed', error: { ...error, code: 'ERR_AGENT_RUN' }, event, payload: 'x' }],
    ]);
  });
});

test('the last result is the payload of onSuccess, and part of that of onComplete', async () => {
  const odd = createTool({ name: 'odd', description: '', parameters: {}, execute: async () => 10n });
  const { agent } = member('a', [{ toolCalls: [{ name: 'odd' }] }, 'ok'], { tools: [odd] });
  const { hub, clock, pipeline, followUps } = await started({
    name: 'p',
    steps: [{ agent }],
    onSuccess: 'ok',
    onComplete: 'done',
  });
  await hub.startWorkflow(pipeline, 'x');
  await clock.settle();
  const result = expect.objectContaining({
    agentName: 'a',
    output: 'ok',
    toolCalls: [{ name: 'odd', durationMs: expect.any(Number) }],
  });
  expect(followUps.map(({ eventType, payload }) => [eventType, payload])).toEqual([
    ['ok', result],
    ['done', { status: 'completed', result, payload: 'x' }],
  ]);
});

test('all runs share the requestId, and their tools receive the context of the step', async () => {
  const seen: AgentContext[] = [];
  const look = createTool({
    name: 'look',
    description: '',
    parameters: {},
    execute: async (_: unknown, ctx) => void seen.push(ctx),
  });
  const agents = ['a', 'b'].map((name) => member(name, [{ toolCalls: [{ name: 'look' }] }, 'ok'], { tools: [look] }));
  const { hub, clock, pipeline } = await started({ name: 'p', steps: stepsOf(...agents) });
  const { runId } = await hub.startWorkflow(pipeline, 'x', { requestId: 'req' });
  await clock.settle();
  expect(seen).toMatchObject(
    ['a', 'b'].map((agentName) => ({
      agentName,
      requestId: 'req',
      runId,
      eventType: 'p',
      eventId: runId,
      idempotencyKey: `hub:${runId}:${agentName}`,
    })),
  );
});

test('cancelling the workflow aborts the running agent', async () => {
  let signal: AbortSignal | undefined;
  const chat = (_: unknown, options: { signal?: AbortSignal }) => {
    signal = options.signal;
    return new Promise<never>(() => {});
  };
  const { hub, clock, pipeline } = await started({
    name: 'p',
    steps: stepsOf(member('a', [], { provider: { chat } })),
  });
  const handle = await hub.startWorkflow(pipeline, 'x');
  await clock.settle();
  await handle.cancel();
  expect(signal?.reason).toMatchObject({ code: 'ERR_WORKFLOW_CANCELLED' });
});

test('an interrupted run resumes at its agent, and repeats no earlier one', async () => {
  const triage = member('triage', ['a refund']);
  const review = member('review', ['sent']);
  const hanging = { chat: () => new Promise<never>(() => {}) };
  const first = await started({
    name: 'p',
    steps: stepsOf(triage, member('draft', [], { provider: hanging }), review),
  });
  await first.hub.startWorkflow(first.pipeline, 'x');
  await first.clock.settle();
  expect(await first.hub.stop({ drainMs: 0 })).toEqual({ released: 1, overdue: 0 });

  const draft = member('draft', ['Dear customer']);
  const { hub, clock } = testHub({ transport: first.transport });
  for (const type of ['ok', 'bad', 'done']) hub.event({ type });
  hub.workflow(createPipeline({ name: 'p', steps: stepsOf(triage, draft, review) }));
  await hub.start();
  await clock.settle();
  expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ received: 1, completed: 1, failed: 0 });
  expect(draft.provider.calls[0]?.messages).toEqual([{ role: 'user', content: 'a refund' }]);
  for (const { provider } of [triage, draft, review]) provider.assertDone();
});

test('introspection shows the steps as agents, with the descriptions of known agents', async () => {
  const registry = createAgentRegistry();
  const { agent } = member('triage', [], { description: 'Sorts' });
  const { hub } = await started({ name: 'p', registry, steps: [{ agent }, { agent: 'late' }, { agent }] });
  const before = await hub.introspect();
  expect(before.workflows[0]?.steps).toEqual([
    { name: 'triage', kind: 'agent', agent: 'triage' },
    { name: 'late', kind: 'agent', agent: 'late' },
    { name: 'triage 2', kind: 'agent', agent: 'triage' },
  ]);
  expect(before.agents.map(({ name, description }) => [name, description])).toEqual([['triage', 'Sorts']]);
  registry.register(member('late').agent);
  expect((await hub.introspect()).agents.map(({ name, model }) => [name, model])).toEqual([
    ['triage', 'm'],
    ['late', 'm'],
  ]);
});
