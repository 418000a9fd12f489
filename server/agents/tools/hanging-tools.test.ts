import { expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import type { AgentConfig } from '../create-agent.js';
import { createPipeline } from '../multi-agent/create-pipeline.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from './tool.js';

const callHang = { toolCalls: [{ name: 'hang' }] };

/** Agent with a tool that ignores its signal and never settles. */
function hanging(timeoutMs?: number, config: Partial<AgentConfig> = {}) {
  let calls = 0;
  const reasons: unknown[] = [];
  const tool = createTool({
    name: 'hang',
    description: '',
    parameters: {},
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: (_, { signal }) => {
      calls += 1;
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return new Promise<never>(() => {});
    },
  });
  const { agent } = agentOf([callHang, 'done', callHang, 'done', callHang], { ...config, name: 'a', tools: [tool] });
  const registry = createAgentRegistry();
  registry.register(agent);
  const delegate = { toolCalls: [{ name: 'delegate', arguments: { agentName: 'a', input: 'x' } }] };
  const { agent: chief } = agentOf([delegate, 'done', delegate], { name: 'chief', tools: [], registry });
  return { agent, chief, reasons, calls: () => calls };
}

type Hanging = ReturnType<typeof hanging>;
const places: [string, (hub: Hub, agents: Hanging, limits?: { timeoutMs: number }) => () => Promise<unknown>][] = [
  [
    'an event',
    (hub, { agent }, limits) => {
      const asked = hub.event({ type: 'asked', handler: agent.asHandler(), ...limits });
      return () => hub.emit(asked, 'x');
    },
  ],
  [
    'a delegate',
    (hub, { chief }, limits) => {
      const asked = hub.event({ type: 'asked', handler: chief.asHandler(), ...limits });
      return () => hub.emit(asked, 'x');
    },
  ],
  [
    'a plain handler',
    (hub, { agent }, limits) => {
      const asked = hub.event({ type: 'asked', handler: (ctx) => agent.run('x', { hubCtx: ctx }), ...limits });
      return () => hub.emit(asked, 'x');
    },
  ],
  [
    'a pipeline',
    (hub, { agent }, limits) => {
      const pipeline = hub.workflow(createPipeline({ name: 'p', steps: [{ agent, ...limits }] }));
      return () => hub.startWorkflow(pipeline, 'x');
    },
  ],
];

test.each(places)('stop ends although a tool never settles: %s', async (_, register) => {
  const { hub, clock } = testHub();
  const agents = hanging();
  const start = register(hub, agents);
  await hub.start();
  await start();
  await clock.settle();
  expect(agents.calls()).toBe(1);
  const stopped = hub.stop({ drainMs: 1_000 });
  await clock.advance(1_000);
  expect(await stopped).toMatchObject({ released: 1 });
  expect(clock.pendingTimers).toBe(0);
});

test.each(places)('timeoutMs of the event or step ends a tool that never settles: %s', async (_, register) => {
  const { hub, clock } = testHub();
  const agents = hanging();
  const start = register(hub, agents, { timeoutMs: 5_000 });
  await hub.start();
  await start();
  await clock.advance(4_999);
  expect((await hub.introspect()).agents[0]?.runs).toMatchObject({ aborted: 0 });
  await clock.advance(2);
  await clock.settle();
  const { events, workflows } = await hub.introspect();
  const name = events[0]?.type ?? workflows[0]?.name ?? '';
  expect(await hub.deadLetters(name)).toMatchObject([{ name: 'HandlerTimeoutError' }]);
});

test.each(places)('hub.cancel aborts a tool that never settles: %s', async (_, register) => {
  const { hub, clock } = testHub();
  const agents = hanging();
  const start = register(hub, agents);
  await hub.start();
  const { id, runId = id } = Object(await start()) as { id: string; runId?: string };
  await clock.settle();
  expect(await hub.cancel(runId)).toBe(true);
  expect(agents.reasons).toMatchObject([{ code: expect.stringMatching(/^ERR_(WORKFLOW_)?CANCELLED$/) }]);
  expect(await hub.find(runId)).toMatchObject([{ status: 'cancelled' }]);
});

test('hub.cancel aborts a model call', async () => {
  const { hub, clock } = testHub();
  const { agent, provider } = agentOf([{ content: 'late', delayMs: 60_000 }], { name: 'a' });
  const asked = hub.event({ type: 'asked', handler: agent.asHandler() });
  await hub.start();
  const { id } = await hub.emit(asked, 'x');
  await clock.settle();
  expect(await hub.cancel(id)).toBe(true);
  await clock.settle();
  expect(provider.calls[0]?.options.signal?.reason).toMatchObject({ code: 'ERR_WORKFLOW_CANCELLED' });
  expect(clock.pendingTimers).toBe(0);
});

test('a workflow function whose agent hangs is cancelled', async () => {
  const { hub, clock } = testHub();
  const { agent } = hanging();
  const workflow = hub.workflow(
    createWorkflow({ name: 'w', run: async (ctx) => (await agent.run('x', { hubCtx: ctx })).output }),
  );
  await hub.start();
  const run = await hub.startWorkflow(workflow, 'x');
  await clock.settle();
  await run.cancel('enough');
  await expect(run.result()).rejects.toMatchObject({ message: expect.stringContaining('enough') });
});

test('timeoutMs of the tool ends the call, and the model receives the error', async () => {
  const { hub, clock } = testHub();
  const { agent } = hanging(2_000, { clock });
  const asked = hub.event({ type: 'asked', handler: agent.asHandler() });
  await hub.start();
  const { id } = await hub.emit(asked, 'x');
  await clock.advance(2_000);
  expect(await hub.getRun(asked, id)).toMatchObject({ status: 'completed' });
});
