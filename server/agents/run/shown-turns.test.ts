import { expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import type { ModelAgent } from '../agent/agent.js';
import type { ApprovalDecided, ApprovalRequest } from '../agent/approval.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { createPipeline } from '../multi-agent/create-pipeline.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { createTool } from '../tools/tool.js';

const prices = { m: { input: 1_000_000, output: 2_000_000 } };

function agentOf(name: string, script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}): ModelAgent {
  return createAgent({
    name,
    systemPrompt: 'private prompt',
    provider: scriptedProvider(script),
    model: { model: 'm' },
    ...config,
  });
}

const calling = (name: string, args: unknown = { secret: 'private argument' }) => ({
  toolCalls: [{ name, arguments: args }],
  usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15, cachedTokens: 4, reasoningTokens: 2 },
});
const answer = { content: 'private answer', usage: { promptTokens: 20, completionTokens: 1, totalTokens: 21 } };

const parameters = { type: 'object' };
const find = createTool({ name: 'find', description: '', parameters, execute: async () => 'private result' });
const broken = createTool({
  name: 'broken',
  description: '',
  parameters,
  execute: async () => {
    throw new Error('private error');
  },
});

test('runs of an agent show their turns, tool calls, tokens and cost, wherever they are recorded', async () => {
  const { hub, clock } = testHub();
  const registry = createAgentRegistry();
  const helper = agentOf('helper', [answer], { registry });
  registry.register(helper);
  const lead = agentOf(
    'lead',
    [
      calling('find'),
      calling('broken'),
      calling('delegate', { agentName: 'helper', input: 'private input' }),
      answer,
      answer,
      new Error('model down'),
      answer,
    ],
    { tools: [find, broken], prices, registry },
  );
  hub.event({ type: 'asked', handler: lead.asHandler() });
  hub.workflow(createPipeline({ name: 'line', steps: [{ agent: lead }] }));
  hub.workflow(createWorkflow({ name: 'code', run: async (ctx) => void (await lead.run('x', { hubCtx: ctx })) }));
  await hub.start();
  const { id } = await hub.emit('asked', 'private input', { requestId: 'r' });
  await clock.settle();
  await clock.advance(1_000);
  const piped = await hub.startWorkflow('line', 'x');
  await clock.settle();
  await clock.advance(1_000);
  const coded = await hub.startWorkflow('code', 'x');
  await clock.settle();

  const runs = await hub.agentRuns('lead');
  expect(
    runs.map(({ type, kind, step, status, turns, toolCalls }) => [type, kind, step, status, turns, toolCalls]),
  ).toEqual([
    ['code', 'workflow', 'lead', 'failed', 0, 0],
    ['line', 'workflow', 'lead', 'completed', 1, 0],
    ['asked', 'event', '', 'completed', 4, 3],
  ]);
  expect(runs.map((run) => run.id)).toEqual([coded.runId, piped.runId, id]);
  expect(runs[2]).toMatchObject({
    requestId: 'r',
    usage: { promptTokens: 50, completionTokens: 16, totalTokens: 66, cachedTokens: 12, reasoningTokens: 6, cost: 82 },
  });
  expect(runs[2]?.steps.map(({ name, turn }) => [name, turn?.usage?.totalTokens, turn?.isToolError])).toEqual([
    ['turn 1', 15, undefined],
    ['turn 1 / find', undefined, undefined],
    ['turn 2', 15, undefined],
    ['turn 2 / broken', undefined, true],
    ['turn 3', 15, undefined],
    ['turn 3 / delegate', undefined, undefined],
    ['turn 4', 21, undefined],
  ]);
  expect(runs[2]?.steps[0]?.turn).toMatchObject({ agent: 'lead', model: 'm', usage: { cost: 20 } });
  expect(await hub.agentRuns('helper')).toMatchObject([
    {
      type: 'asked',
      step: 'turn 3 / delegate',
      status: 'completed',
      turns: 1,
      toolCalls: 0,
      usage: { totalTokens: 21 },
    },
  ]);
  expect(await hub.agentRuns('nobody')).toEqual([]);

  const { agents } = await hub.introspect();
  const usage = agents.find(({ name }) => name === 'lead')?.tokenUsage;
  expect(usage).toMatchObject({ promptTokens: 70, cachedTokens: 12, reasoningTokens: 6, cost: 104 });
  const [details] = await hub.find(id);
  expect(details?.steps?.find(({ name }) => name === 'turn 2')?.turn).toMatchObject({ model: 'm' });
  expect(JSON.stringify([runs, agents, details])).not.toContain('private');
});

test('waits name the types of which not all are listed', async () => {
  const { hub, clock } = testHub();
  for (const name of ['rest', 'pause'])
    hub.workflow(createWorkflow({ name, run: ({ step }) => step.sleep('long', 600_000) }));
  await hub.start();
  await hub.startWorkflow('pause', {});
  for (let n = 0; n < 100; n += 1) await hub.startWorkflow('rest', {});
  await clock.settle();
  expect(await hub.waits()).toMatchObject({ suspended: 101, isTruncated: false, truncated: [] });

  await hub.startWorkflow('rest', {});
  await clock.settle();
  const { waits, ...more } = await hub.waits();
  expect(more).toEqual({
    approvals: 0,
    suspended: 102,
    isTruncated: true,
    truncated: [{ kind: 'workflow', type: 'rest' }],
  });
  expect(waits.map(({ type }) => type).filter((type) => type === 'rest')).toHaveLength(100);
});

test('waits name the listed types of which others are omitted', async () => {
  const { hub, clock } = testHub();
  const names = ['first', 'second', 'third', 'unlisted'];
  for (const name of names) hub.workflow(createWorkflow({ name, run: ({ step }) => step.sleep('long', 600_000) }));
  await hub.start();
  for (const name of names) {
    for (let n = 0; n < 80; n += 1) await hub.startWorkflow(name, {});
    await clock.advance(1_000);
  }
  const { waits, isTruncated, truncated } = await hub.waits();
  expect(waits).toHaveLength(200);
  expect({ isTruncated, truncated }).toEqual({ isTruncated: true, truncated: [{ kind: 'workflow', type: 'third' }] });
});

test('waits show who waits for which approval, since when and until when', async () => {
  const { hub, clock } = testHub();
  const requests: ApprovalRequest[] = [];
  const requested = hub.event<ApprovalRequest>({
    type: 'approval.requested',
    handler: ({ payload }) => void requests.push(payload),
  });
  const decided = hub.event<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });
  const refund = createTool({
    name: 'refund',
    description: '',
    parameters,
    execute: async () => 'refunded',
    needsApproval: true,
  });
  const agent = agentOf('clerk', [calling('refund'), answer], { tools: [refund] });
  const approvals = { requested, decided, timeoutMs: 60_000 };
  hub.event({ type: 'asked', handler: agent.asHandler({ approvals }) });
  hub.workflow(createWorkflow({ name: 'rest', run: ({ step }) => step.sleep('long', 600_000) }));
  await hub.start();
  const rest = await hub.startWorkflow('rest', {});
  await clock.advance(1_000);
  const since = clock.now();
  const { id } = await hub.emit('asked', 'private input');
  await clock.settle();

  const waits = await hub.waits();
  expect(waits).toMatchObject({ approvals: 1, suspended: 2, isTruncated: false });
  expect(waits.waits).toMatchObject([
    {
      id,
      kind: 'event',
      type: 'asked',
      step: {
        name: 'turn 1 / refund',
        kind: 'approval',
        waitsFor: {
          since,
          dueAt: since + 60_000,
          event: { type: 'approval.decided', key: requests[0]?.approvalId },
        },
      },
    },
    { id: rest.runId, kind: 'workflow', type: 'rest', step: { name: 'long', kind: 'sleep' } },
  ]);
  expect(JSON.stringify(waits)).not.toContain('private');
  await hub.emit(decided, { approvalId: requests[0]?.approvalId ?? '', approved: true });
  await clock.settle();
  expect(await hub.waits()).toMatchObject({ approvals: 0, suspended: 1, waits: [{ type: 'rest' }] });
  expect(await hub.agentRuns('clerk')).toMatchObject([{ turns: 2, toolCalls: 1, status: 'completed' }]);
});
