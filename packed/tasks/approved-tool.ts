import { createEvent, createHub } from 'hubline';
import {
  type AgentHandlerResult,
  type ApprovalDecided,
  type ApprovalRequest,
  createAgent,
  createTool,
} from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { z } from 'zod';

const requested = createEvent<ApprovalRequest>({ type: 'approval.requested' });
const decided = createEvent<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });
const answered = createEvent<AgentHandlerResult>({ type: 'ticket.answered' });
const agent = createAgent({
  name: 'support',
  systemPrompt: 'You refund broken orders.',
  provider: scriptedProvider([
    { toolCalls: [{ name: 'refund', arguments: { order: 'A-1', cents: 9_900 } }] },
    'The money is on its way.',
  ]),
  model: { model: 'script' },
  tools: [
    createTool({
      name: 'refund',
      description: 'Refunds an order',
      parameters: z.object({ order: z.string(), cents: z.number().int() }),
      needsApproval: ({ cents }) => cents > 5_000,
      execute: ({ order, cents }) => console.log(`refunded ${cents} of ${order}`),
    }),
  ],
});
const hub = createHub();
hub.event(requested, {
  handler: async ({ payload, emit }) => {
    console.log(`a clerk is asked about ${payload.tool}`);
    await emit(decided, { approvalId: payload.approvalId, approved: true });
  },
});
hub.event(decided);
const done = new Promise<string>((resolve) => {
  hub.event(answered, { handler: ({ payload }) => resolve(payload.output) });
});
hub.event({
  type: 'ticket.opened',
  handler: agent.asHandler({ approvals: { requested, decided } }),
  onSuccess: answered,
});
await hub.start();
await hub.emit('ticket.opened', 'My teapot arrived broken.');
console.log(await done);
await hub.stop();
