import { expect, test, vi } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import type { ApprovalDecided, ApprovalRequest } from './approval.js';

/** Creates an agent with twelve calls in its first turn, of which each other one needs approval. */
function agentWithCalls() {
  let running = 0;
  let most = 0;
  const ended: number[] = [];
  const work = createTool({
    name: 'work',
    description: '',
    parameters: { type: 'object' },
    needsApproval: async (input) => (input as { n: number }).n % 2 === 0,
    execute: async (input) => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      ended.push((input as { n: number }).n);
    },
  });
  const toolCalls = Array.from({ length: 12 }, (_, n) => ({ name: 'work', arguments: { n } }));
  const { agent } = agentOf([{ toolCalls }, 'done'], { tools: [work], maxParallelToolCalls: 2 });
  return { agent, ended, most: () => most };
}

const all = Array.from({ length: 12 }, (_, n) => n);
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

test('approved calls of a run are part of maxParallelToolCalls', async () => {
  const { agent, ended, most } = agentWithCalls();
  const { status } = await agent.run('go', { onApproval: () => ({ approved: true }) });
  expect({ status, ended: sorted(ended), most: most() }).toEqual({ status: 'completed', ended: all, most: 2 });
});

test('approved calls of a workflow are part of maxParallelToolCalls', async () => {
  const { hub } = testHub();
  const { agent, ended, most } = agentWithCalls();
  const workflow = hub.workflow(
    createWorkflow({
      name: 'w',
      run: async (ctx) => (await agent.run('go', { hubCtx: ctx, onApproval: () => ({ approved: true }) })).status,
    }),
  );
  await hub.start();
  expect(await (await hub.startWorkflow(workflow, {})).result()).toBe('completed');
  expect({ ended: sorted(ended), most: most() }).toEqual({ ended: all, most: 2 });
  await hub.stop();
});

test('calls that events approve at the same time are part of maxParallelToolCalls', async () => {
  const { hub } = testHub();
  const { agent, ended, most } = agentWithCalls();
  const requests: ApprovalRequest[] = [];
  const requested = hub.event<ApprovalRequest>({
    type: 'requested',
    handler: ({ payload }) => void requests.push(payload),
  });
  const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
  const asked = hub.event({ type: 'asked', handler: agent.asHandler({ approvals: { requested, decided } }) });
  await hub.start();
  await hub.emit(asked, 'go');
  await vi.waitFor(() => expect([requests.length, ended.length]).toEqual([6, 6]));
  await hub.emitMany(
    decided,
    requests.map(({ approvalId }) => ({ approvalId, approved: true })),
  );
  await vi.waitFor(async () => expect(await hub.metrics('asked')).toMatchObject({ completed: 1 }));
  expect({ ended: sorted(ended), most: most() }).toEqual({ ended: all, most: 2 });
  await hub.stop();
});
