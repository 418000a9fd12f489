import { createEvent, createHub, type Hub } from 'hubline';
import { createAgent, createTool, type ModelAgent, type ModelProvider } from 'hubline/agents';
import { z } from 'zod';

export const triage = z.object({
  category: z.enum(['billing', 'delivery', 'other']),
  urgency: z.number().int().min(1).max(5).describe('5: the customer loses money'),
  orderId: z.string().nullable(),
});

export const ticketOpened = createEvent<{ input: string }>({ type: 'ticket.opened' });
const ticketTriaged = createEvent<{ output: string; data: z.output<typeof triage> }>({ type: 'ticket.triaged' });

/** Creates a hub on which an agent turns each ticket into a typed object. */
export function createTriageHub(
  provider: ModelProvider,
  orders: ReadonlyMap<string, string>,
  assign: (team: string, urgency: number) => void,
): Hub {
  const findOrder = createTool({
    name: 'find_order',
    description: 'Finds the order of a customer by mail address',
    parameters: z.object({ mail: z.email() }),
    execute: ({ mail }) => ({ orderId: orders.get(mail) ?? null }),
  });
  const agent = createAgent({
    name: 'triage',
    systemPrompt: 'You classify tickets of customers.',
    provider,
    model: { model: 'gpt-4o-mini' },
    tools: [findOrder],
    outputSchema: triage,
  });
  const hub = createHub({ service: 'support' });
  hub.event(ticketOpened, { handler: agent.asHandler(), retry: { maxAttempts: 3 }, onSuccess: ticketTriaged });
  hub.event(ticketTriaged, {
    handler: ({ payload: { data } }) => assign(data.category === 'billing' ? 'finance' : 'service', data.urgency),
  });
  return hub;
}

/** Describes a ticket without a hub. */
export async function describeTicket(agent: ModelAgent<z.output<typeof triage>>, ticket: string): Promise<string> {
  const result = await agent.run(ticket);
  if (result.status !== 'completed') return result.error?.message ?? result.status;
  return `${result.data.category}, urgency ${result.data.urgency}`;
}
