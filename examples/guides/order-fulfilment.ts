import { createEvent, createHub, createWorkflow, type Hub, type HubOptions } from 'hubline';
import { z } from 'zod';

const twoDaysMs = 2 * 86_400_000;

const order = z.object({ id: z.string(), items: z.array(z.string()).min(1) });
type Order = z.infer<typeof order>;

export const orderPlaced = createEvent({ type: 'order.placed', schema: order });
export const orderConfirmed = createEvent({
  type: 'order.confirmed',
  schema: z.object({ id: z.string(), by: z.string() }),
  key: ({ id }) => id,
});

/** Systems outside the shop. */
export interface Services {
  reserve(items: readonly string[]): Promise<{ parcels: number }>;
  ask(orderId: string): Promise<void>;
  ship(order: Order, idempotencyKey: string): Promise<{ tracking: string }>;
  tell(text: string): void;
}

/** Creates a hub that ships each placed order as soon as its customer confirms it, within two days. */
export function createFulfilmentHub({ reserve, ask, ship, tell }: Services, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'orders', ...options });
  hub.event(orderPlaced);
  hub.event(orderConfirmed);
  const ended = hub.event<{ id: string; status: 'expired' | 'shipped' }>({
    type: 'order.ended',
    handler: ({ payload: { id, status } }) => tell(`${id} is ${status}`),
  });

  const fulfil = createWorkflow({
    name: 'fulfil',
    input: order,
    trigger: orderPlaced,
    onSuccess: ended,
    run: async ({ input, step }) => {
      const { parcels } = await step.run('reserve', () => reserve(input.items), { retry: { maxAttempts: 5 } });
      // The wait begins before the step that makes the customer answer.
      const confirmation = step.waitForEvent('confirmed', orderConfirmed, { key: input.id, timeoutMs: twoDaysMs });
      await step.run('ask', () => ask(input.id));
      if ((await confirmation) === null) return { id: input.id, status: 'expired' as const };
      const { tracking } = await step.run('ship', ({ idempotencyKey }) => ship(input, idempotencyKey));
      return { id: input.id, status: 'shipped' as const, parcels, tracking };
    },
  });
  hub.workflow(fulfil);
  return hub;
}
