import { createEvent, createHub, createWorkflow, type Hub, type HubOptions } from 'hubline';
import { z } from 'zod';

export const orderPlaced = createEvent({
  type: 'order.placed',
  schema: z.object({ id: z.string(), cents: z.number(), country: z.string() }),
});
export const refundAsked = createEvent({
  type: 'refund.asked',
  schema: z.object({ id: z.string(), cents: z.number() }),
});

/** Creates a hub that reports orders to the customs, and lets somebody review large orders and refunds. */
export function createReviewHub(
  work: {
    declare: (id: string) => Promise<void>;
    review: (id: string, reason: string | undefined) => Promise<string>;
  },
  options: HubOptions = {},
): Hub {
  const hub = createHub({ service: 'review', ...options });
  hub.event(orderPlaced, {
    when: ({ country }) => country !== 'NO',
    rate: { max: 10, perMs: 1_000 },
    retry: { maxAttempts: 5 },
    handler: ({ payload }) => work.declare(payload.id),
  });
  hub.workflow(
    createWorkflow({
      name: 'review',
      triggers: [
        { event: orderPlaced, when: ({ cents }) => cents >= 100_000 },
        { event: refundAsked, when: ({ cents }) => cents >= 10_000 },
      ],
      run: async ({ input, trigger, step }) => step.run('review', () => work.review(input.id, trigger)),
    }),
  );
  return hub;
}
