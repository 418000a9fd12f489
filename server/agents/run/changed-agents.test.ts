import { expect, test } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { ModelAgent } from '../agent/agent.js';
import type { ApprovalDecided, ApprovalEvents, ApprovalRequest } from '../agent/approval.js';
import { type AgentConfig, createAgent } from '../create-agent.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import { createPipeline } from '../multi-agent/create-pipeline.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { createTool } from '../tools/tool.js';

interface Code {
  readonly root?: Partial<AgentConfig>;
  readonly helper?: Partial<AgentConfig>;
  readonly isHelperGone?: boolean;
  readonly isRegistryGone?: boolean;
}

const changes: [string, Code, unknown][] = [
  ['the delegate is not registered any more', { isHelperGone: true }, expect.stringContaining('agentName')],
  ['there are no delegates any more', { isRegistryGone: true }, expect.stringContaining('no tool "delegate"')],
  ['maxDelegations is lower', { root: { maxDelegations: 1 } }, expect.stringContaining('maxDelegations (1)')],
  ['maxDelegationDepth is lower', { root: { maxDelegationDepth: 1 } }, 'helped'],
  [
    'maxIterations of the delegate is lower',
    { helper: { maxIterations: 1 } },
    expect.stringContaining('max_iterations'),
  ],
  ['maxRepeats of the delegate is lower', { helper: { maxRepeats: 2 } }, expect.stringContaining('raise maxRepeats')],
  ['the delegate has no tools any more', { helper: { tools: [] } }, 'helped'],
];

type Start = (hub: Hub, agent: ModelAgent, approvals?: ApprovalEvents) => { type: string; go(): Promise<unknown> };

const places: [string, Start][] = [
  [
    'the handler of an event',
    (hub, agent, approvals) => {
      hub.event({ type: 'asked', handler: agent.asHandler(approvals && { approvals }) });
      return { type: 'asked', go: () => hub.emit('asked', 'go') };
    },
  ],
  [
    'a pipeline',
    (hub, agent, approvals) => {
      const pipeline = hub.workflow(createPipeline({ name: 'p', steps: [{ agent }], ...(approvals && { approvals }) }));
      return { type: 'p', go: () => hub.startWorkflow(pipeline, 'go') };
    },
  ],
  [
    'the function of a workflow',
    (hub, agent, approvals) => {
      const workflow = hub.workflow(
        createWorkflow({
          name: 'w',
          run: async (ctx) => {
            const { output, status, error } = await agent.run('go', { hubCtx: ctx, ...(approvals && { approvals }) });
            if (status !== 'completed') throw error ?? new Error(status);
            return output;
          },
        }),
      );
      return { type: 'w', go: () => hub.startWorkflow(workflow, {}) };
    },
  ],
];

/** Registers the events of approvals, and collects the requests. */
function approvalEvents(hub: Hub, requests: ApprovalRequest[]) {
  const requested = hub.event<ApprovalRequest>({
    type: 'requested',
    handler: ({ payload }) => void requests.push(payload),
  });
  const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
  return { requested, decided };
}

/** Starts a run, and stops its hub when the run waits for an approval. */
async function waitForApproval(
  { hub, go }: { hub: Hub; go(): Promise<unknown> },
  clock: FakeClock,
  requests: readonly ApprovalRequest[],
): Promise<void> {
  await go();
  await clock.settle();
  expect(requests).toHaveLength(1);
  await hub.stop();
}

const cases = places.flatMap(([place, start]) =>
  changes.map(([what, code, result]) => [what, place, start, code, result] as const),
);

test.each(cases)('a delegation that waits resumes if %s, in %s', async (_what, _place, start, code, result) => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const requests: ApprovalRequest[] = [];
  const toolOf = (name: string, needsApproval: boolean) =>
    createTool({ name, description: '', parameters: { type: 'object' }, needsApproval, execute: async () => name });
  const delegate = (input: string) => ({ name: 'delegate', arguments: { agentName: 'helper', input } });
  const look = { name: 'look', arguments: {} };
  const ofRoot = scriptedProvider([{ toolCalls: [delegate('a')] }, { toolCalls: [delegate('b')] }, 'done']);
  const ofHelper = scriptedProvider([
    'helped',
    { toolCalls: [look] },
    { toolCalls: [look, { name: 'send', arguments: {} }] },
    'helped',
  ]);
  const deploy = async ({ root, helper, isHelperGone = false, isRegistryGone = false }: Code) => {
    const hub = createHub({ transport });
    const { requested, decided } = approvalEvents(hub, requests);
    const model = { systemPrompt: '', model: { model: 'm' }, clock };
    const registry = createAgentRegistry();
    registry.register(createAgent({ name: 'other', provider: scriptedProvider([]), ...model }));
    const tools = [toolOf('look', false), toolOf('send', true)];
    if (!isHelperGone)
      registry.register(createAgent({ name: 'helper', provider: ofHelper, ...model, tools, ...helper }));
    const agent = createAgent({
      name: 'root',
      provider: ofRoot,
      ...model,
      ...(!isRegistryGone && { registry }),
      ...root,
    });
    const { type, go } = start(hub, agent, { requested, decided });
    await hub.start();
    return { hub, type, go, decided };
  };
  await waitForApproval(await deploy({}), clock, requests);
  const after = await deploy(code);
  await after.hub.emit(after.decided, { approvalId: requests[0]?.approvalId ?? '', approved: true });
  await clock.advance(5_000);
  expect(await after.hub.deadLetters(after.type)).toEqual([]);
  ofRoot.assertDone();
  expect(ofRoot.calls.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: result });
  await after.hub.stop();
});

const codes: [string, Partial<AgentConfig> & { asks?: boolean }, string | undefined][] = [
  ['there are no approvals any more', { asks: false }, undefined],
  ['maxToolCalls is lower', { maxToolCalls: 1 }, undefined],
  ['maxRepeats is lower', { maxRepeats: 2 }, 'raise maxRepeats'],
  ['maxIterations is lower', { maxIterations: 1 }, 'max_iterations'],
];
const lowered = places.flatMap(([place, start]) =>
  codes.map(([what, limit, error]) => [what, place, start, limit, error] as const),
);

test.each(lowered)('a run that waits for an approval resumes if %s, in %s', async (...given) => {
  const [_what, _place, start, limit, error] = given;
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const requests: ApprovalRequest[] = [];
  const toolOf = (name: string, needsApproval: boolean) =>
    createTool({ name, description: '', parameters: { type: 'object' }, needsApproval, execute: async () => name });
  const look = { name: 'look', arguments: {} };
  const send = { name: 'send', arguments: {} };
  const provider = scriptedProvider([{ toolCalls: [look] }, { toolCalls: [look, send] }, 'done']);
  const deploy = async ({ asks = true, ...config }: Partial<AgentConfig> & { asks?: boolean }) => {
    const hub = createHub({ transport });
    const { requested, decided } = approvalEvents(hub, requests);
    const tools = [toolOf('look', false), toolOf('send', asks)];
    const memory = new ConversationMemory({ transport: hub.transport });
    const agent = createAgent({
      name: 'root',
      provider,
      systemPrompt: '',
      model: { model: 'm' },
      tools,
      memory,
      ...config,
    });
    const { type, go } = start(hub, agent, asks ? { requested, decided } : undefined);
    await hub.start();
    return { hub, type, go, decided };
  };
  await waitForApproval(await deploy({}), clock, requests);
  const after = await deploy(limit);
  await after.hub.emit(after.decided, { approvalId: requests[0]?.approvalId ?? '', approved: true });
  await clock.advance(5_000);
  const [deadLetter] = await after.hub.deadLetters(after.type);
  if (error === undefined) {
    provider.assertDone();
    const answer = limit.asks === false ? expect.stringContaining('nobody can approve it any more') : 'send';
    expect(provider.calls.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: answer });
  }
  expect(deadLetter?.message).toEqual(error === undefined ? undefined : expect.stringContaining(error));
  await after.hub.stop();
});
