import { createAgent, createTool, type ModelAgent, type ModelProvider } from 'hubline/agents';
import { z } from 'zod';

/** Payload of a run, or of the event that it handles. */
const customer = z.object({ name: z.string(), maxRefund: z.number() });
const refundInput = z.object({ order: z.string(), amount: z.number() });

const findOrder = createTool({
  name: 'find_order',
  description: 'Finds an order',
  parameters: z.object({ order: z.string() }),
  execute: ({ order }) => ({ order, total: 80 }),
});
const refund = createTool({
  name: 'refund',
  description: 'Refunds an order',
  parameters: refundInput,
  execute: ({ order, amount }) => `refunded ${amount} for ${order}`,
});

/** Creates an agent whose code decides with the model. */
export function createSupport(provider: ModelProvider): ModelAgent {
  return createAgent({
    name: 'support',
    provider,
    model: { model: 'gpt-4o-mini' },
    systemPrompt: ({ payload }) => `You serve ${customer.parse(payload).name}.`,
    tools: [findOrder, refund],
    prepareTurn: ({ turn, usage }) => {
      if (turn === 1) return { tools: ['find_order'], toolChoice: 'required' };
      return usage.totalTokens > 10_000 ? { model: { model: 'gpt-4o' } } : undefined;
    },
    beforeTool: ({ tool, input, ctx }) => {
      const { maxRefund } = customer.parse(ctx.payload);
      const isTooMuch = tool === 'refund' && refundInput.parse(input).amount > maxRefund;
      return isTooMuch ? { refuse: `a person decides about refunds above ${maxRefund}` } : undefined;
    },
    afterModel: ({ content }) => ({ content: content.replaceAll(/\b\d{16}\b/g, '[card]') }),
  });
}
