import { createHub, createLimit, createWorkflow, type Hub, type HubOptions } from 'hubline';
import { createAgent, createTool, type ModelProvider } from 'hubline/agents';
import { z } from 'zod';

/** The vendor's client. */
export interface Vendor {
  charge(order: string): Promise<void>;
  refund(order: string): Promise<void>;
  rates(currency: string): Promise<number>;
}

// The vendor accepts ten requests per second of each tenant, and two sessions of reports. 50 ms are for the network.
const requests = createLimit({ name: 'vendor-requests', max: 10, perMs: 1_050 });
const sessions = createLimit({ name: 'vendor-sessions', concurrency: 2 });
const model = createLimit({ name: 'model', max: 60, perMs: 60_000 });

/** Creates a hub whose handlers, steps, tools and model calls share the limits of their vendors. */
export function createBilling(vendor: Vendor, provider: ModelProvider, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'billing', ...options });
  hub.event<{ tenant: string; order: string }>({
    type: 'order.placed',
    limit: ({ tenant }) => requests.for(tenant),
    retry: { maxAttempts: 5 },
    handler: ({ payload: { order } }) => vendor.charge(order),
  });
  const refund = createWorkflow({
    name: 'refund',
    input: z.object({ tenant: z.string(), orders: z.array(z.string()) }),
    run: async ({ input: { tenant, orders }, step }) => {
      await step.map('refund', orders, (order) => vendor.refund(order), { limit: requests.for(tenant) });
      return step.run('report', () => orders.length, { limit: sessions });
    },
  });
  hub.workflow(refund);
  const rates = createTool({
    name: 'rates',
    description: 'Returns the rate of a currency.',
    parameters: z.object({ currency: z.string() }),
    limit: requests.for('house'),
    execute: ({ currency }) => vendor.rates(currency),
  });
  const advisor = createAgent({
    name: 'advisor',
    systemPrompt: 'You answer questions about currencies.',
    provider,
    model: { model: 'gpt-4o-mini' },
    tools: [rates],
    limit: model,
  });
  hub.event({ type: 'question.asked', onSuccess: 'question.answered', handler: advisor.asHandler() });
  hub.event({ type: 'question.answered' });
  return hub;
}
