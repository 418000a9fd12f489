import { createEvent, type Hub } from 'hubline';
import {
  type ApprovalDecided,
  type ApprovalRequest,
  createAgent,
  createAgentRegistry,
  type ModelAgent,
  type Tool,
} from 'hubline/agents';
import { z } from 'zod';
import type { AgentModels } from '../models/models.js';
import { simulateWork } from '../simulate.js';
import { answerAsCourierDesk, answerAsSupport } from './support-rules.js';
import { lookUpOrder, refund, trackParcel } from './support-tools.js';

/** Answer to a ticket, and how the shop counts it. */
const reply = z.object({
  category: z.enum(['order', 'refund', 'delivery', 'other']),
  orderId: z.string().nullable().describe('Number of the order, such as A-17'),
  answer: z.string().describe('Text for the customer, two sentences at most'),
});

type Reply = z.output<typeof reply>;

/** Emitted for every answer. */
const ticketAnswered = createEvent<{ data: Reply }>({
  type: 'ticket.answered',
  description: 'Sends the answer. Its category and order are typed.',
});

const approvalRequested = createEvent<ApprovalRequest>({
  type: 'approval.requested',
  description: 'A clerk decides on a refund of more than 30 euros, after some seconds.',
});
const approvalDecided = createEvent<ApprovalDecided>({
  type: 'approval.decided',
  description: 'Resumes the ticket whose refund a clerk decided on.',
  key: ({ approvalId }) => approvalId,
});

/**
 * Creates an agent that answers tickets: it looks up orders, refunds, and delegates parcels to the courier desk.
 *
 * @param courierTools tools of the courier's MCP server
 */
export function createSupportAgent({ modelFor }: AgentModels, courierTools: Tool[] = [trackParcel]): ModelAgent<Reply> {
  const registry = createAgentRegistry();
  registry.register(
    createAgent({
      name: 'courier-desk',
      description: 'Finds parcels',
      systemPrompt: 'You track parcels. Say in one sentence where the parcel is.',
      ...modelFor(answerAsCourierDesk),
      tools: courierTools,
    }),
  );
  return createAgent({
    name: 'support',
    description: 'Answers customers',
    systemPrompt:
      'You answer customers of a tea shop, in two sentences at most. Look up the order first. Refund items that arrived broken. Delegate late parcels to the courier desk.',
    ...modelFor(answerAsSupport),
    tools: [lookUpOrder, refund],
    registry,
    outputSchema: reply,
    tokenBudget: 20_000,
  });
}

/**
 * Registers tickets, which an agent answers.
 *
 * @param clerkMs time that a clerk takes to decide on a refund, in milliseconds
 */
export function registerSupport(hub: Hub, models: AgentModels, courierTools?: Tool[], clerkMs = 6_000): void {
  hub.event({
    type: 'ticket.opened',
    description: 'A customer asks a question. The support agent answers.',
    handler: createSupportAgent(models, courierTools).asHandler({
      approvals: { requested: approvalRequested, decided: approvalDecided },
    }),
    concurrency: 2,
    retry: { maxAttempts: 2 },
    timeoutMs: 60_000,
    onSuccess: ticketAnswered,
    onFailure: 'ticket.escalated',
  });
  hub.event(approvalRequested, {
    handler: async ({ payload: { approvalId }, signal, emit }) => {
      await simulateWork(signal, clerkMs / 2, clerkMs);
      await emit(approvalDecided, { approvalId, approved: true });
    },
  });
  hub.event(approvalDecided);
  hub.event(ticketAnswered, {
    handler: async ({ payload: { data }, signal }) => {
      await simulateWork(signal, 20, 150);
      return { category: data.category, characters: data.answer.length };
    },
  });
  hub.event({
    type: 'ticket.escalated',
    description: 'The agent could not answer, a person must. Declared only: no handler in the shop.',
  });
}
