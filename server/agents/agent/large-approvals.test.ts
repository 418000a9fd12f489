import { expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import type { ApprovalDecided, ApprovalRequest } from './approval.js';

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

test.each([
  ['too large', { note: 'x'.repeat(9_000) }],
  ['nested too deep', { note: deep(120) }],
])('a call whose arguments are %s for the request of an approval is refused, and the run goes on', async (_, args) => {
  const { hub, clock, transport } = testHub({ maxPayloadBytes: 6_000 });
  const requests: ApprovalRequest[] = [];
  const executed: unknown[] = [];
  const refund = createTool({
    name: 'refund',
    description: '',
    parameters: { type: 'object' },
    needsApproval: () => true,
    execute: async (input: unknown) => executed.push(input),
  });
  const { agent, provider } = agentOf(
    [
      { toolCalls: [{ name: 'refund', arguments: args }] },
      { toolCalls: [{ name: 'refund', arguments: { note: 'short' } }] },
      'done',
    ],
    { tools: [refund] },
  );
  const register = (on: typeof hub) => {
    const requested = on.event<ApprovalRequest>({
      type: 'requested',
      handler: ({ payload }) => void requests.push(payload),
    });
    const decided = on.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
    const handler = agent.asHandler({ approvals: { requested, decided } });
    return on.event({ type: 'asked', handler, retry: { maxAttempts: 3, initialDelayMs: 0 } });
  };
  register(hub);
  await hub.start();
  const { id } = await hub.emit('asked', 'refund it');
  await clock.settle();
  expect(requests).toMatchObject([{ arguments: { note: 'short' } }]);
  await hub.stop();
  // Replays the refusal, although this hub could ask.
  const larger = testHub({ transport, maxPayloadBytes: 32_000 });
  const asked = register(larger.hub);
  await larger.hub.start();
  await larger.hub.emit('decided', { approvalId: requests[0]?.approvalId ?? '', approved: true });
  await clock.settle();
  expect(executed).toEqual([{ note: 'short' }]);
  expect(requests).toHaveLength(1);
  expect(await larger.hub.getRun(asked, id)).toMatchObject({ status: 'completed' });
  expect(provider.calls[1]?.messages.at(-1)?.content).toMatch(
    /^Error: not executed: the arguments of refund are too large to ask for an approval/,
  );
  provider.assertDone();
});
