import { createEvent, createHub, type Hub } from 'hubline';
import {
  type ApprovalDecided,
  type ApprovalRequest,
  createAgent,
  createTool,
  type ModelProvider,
} from 'hubline/agents';

export const approvalRequested = createEvent<ApprovalRequest>({ type: 'approval.requested' });
export const approvalDecided = createEvent<ApprovalDecided>({
  type: 'approval.decided',
  key: ({ approvalId }) => approvalId,
});

/** Creates a hub whose agent asks a clerk before it refunds more than 50 euros. */
export function createRefundHub(
  provider: ModelProvider,
  refund: (order: string, cents: number, idempotencyKey: string) => Promise<string>,
  askClerk: (request: ApprovalRequest) => void,
): Hub {
  const agent = createAgent({
    name: 'support',
    systemPrompt: 'You answer customers, and refund orders that arrived broken.',
    provider,
    model: { model: 'gpt-4o-mini' },
    tools: [
      createTool({
        name: 'refund',
        description: 'Refunds an order',
        parameters: {
          type: 'object',
          properties: { order: { type: 'string' }, cents: { type: 'integer' } },
          required: ['order', 'cents'],
        },
        execute: ({ order, cents }: { order: string; cents: number }, ctx) => refund(order, cents, ctx.callKey),
        needsApproval: ({ cents }) => cents > 5_000,
      }),
    ],
  });
  const hub = createHub({ service: 'support' });
  hub.event(approvalRequested, { handler: ({ payload }) => askClerk(payload) });
  hub.event(approvalDecided);
  hub.event({
    type: 'ticket.opened',
    handler: agent.asHandler({
      approvals: { requested: approvalRequested, decided: approvalDecided, timeoutMs: 2 * 86_400_000 },
    }),
    retry: { maxAttempts: 3 },
  });
  return hub;
}

/** Passes on what the clerk decided. Any process of the application may call it, days later. */
export async function decide(hub: Hub, approvalId: string, approved: boolean, reason?: string): Promise<void> {
  await hub.emit(approvalDecided, { approvalId, approved, ...(reason !== undefined && { reason }) });
}
