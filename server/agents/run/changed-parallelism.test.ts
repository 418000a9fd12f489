import { expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import type { ApprovalDecided, ApprovalRequest } from '../agent/approval.js';
import { createAgent } from '../create-agent.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';

test.each([
  ['approved', true],
  ['executed without an approval', false],
] as const)(
  'a call that was %s beside a delegate that waits is replayed under a lower maxParallelToolCalls',
  async (_, asks) => {
    const { hub, clock } = testHub();
    const requests: ApprovalRequest[] = [];
    const requested = hub.event<ApprovalRequest>({
      type: 'requested',
      handler: ({ payload }) => void requests.push(payload),
    });
    const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
    const executed: string[] = [];
    const toolOf = (name: string, needsApproval: boolean) =>
      createTool({
        name,
        description: '',
        parameters: { type: 'object' },
        needsApproval,
        execute: async () => executed.push(name),
      });
    const decide = (tool: string): Promise<unknown> => {
      const request = requests.find((one) => one.tool === tool);
      if (request === undefined) throw new Error(`no request for ${tool}`);
      return hub.emit(decided, { approvalId: request.approvalId, approved: true });
    };
    const registry = createAgentRegistry();
    const helper = [{ toolCalls: [{ name: 'inner', arguments: {} }] }, 'helped'];
    registry.register(agentOf(helper, { name: 'helper', tools: [toolOf('inner', true)] }).agent);
    const toolCalls = [
      { name: 'delegate', arguments: { agentName: 'helper', input: 'x' } },
      { name: 'outer', arguments: {} },
    ];
    const provider = scriptedProvider([{ toolCalls }, 'done']);
    let maxParallelToolCalls = 2;
    const workflow = hub.workflow(
      createWorkflow({
        name: 'w',
        run: async (ctx) => {
          const tools = [toolOf('outer', asks)];
          const model = { provider, model: { model: 'm' } };
          const agent = createAgent({ name: 'a', systemPrompt: '', ...model, registry, tools, maxParallelToolCalls });
          return (await agent.run('x', { hubCtx: ctx, approvals: { requested, decided } })).output;
        },
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow(workflow, {});
    await clock.settle();
    if (asks) await decide('outer');
    await clock.settle();
    expect(executed).toEqual(['outer']);
    maxParallelToolCalls = 1;
    await decide('inner');
    expect(await run.result()).toBe('done');
    expect(executed).toEqual(['outer', 'inner']);
    await hub.stop();
  },
);
