import { createHub, createWorkflow, type Hub } from 'hubline';

interface Order {
  readonly id: string;
  readonly items: readonly string[];
}

/** External services of the steps. */
export interface Services {
  charge(order: Order, idempotencyKey: string, signal: AbortSignal): Promise<string>;
  ship(items: readonly string[]): Promise<string>;
  tell(message: string): void;
}

/** Creates a hub that charges and ships each placed order. */
export function createOrderHub({ charge, ship, tell }: Services): Hub {
  const hub = createHub({ service: 'shop' });
  const placed = hub.event<Order>({ type: 'order.placed' });
  const fulfilled = hub.event<{ tracking: string }>({
    type: 'order.fulfilled',
    handler: ({ payload }) => tell(`on its way: ${payload.tracking}`),
  });
  const stuck = hub.event<{ error: { message: string }; payload: Order }>({
    type: 'order.stuck',
    handler: ({ payload: { error, payload } }) => tell(`${payload.id}: ${error.message}`),
  });
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      trigger: placed,
      onSuccess: fulfilled,
      onFailure: stuck,
      steps: [
        {
          name: 'charge',
          retry: { maxAttempts: 4 },
          timeoutMs: 10_000,
          handler: ({ payload, idempotencyKey, signal }) => charge(payload, idempotencyKey, signal),
        },
        {
          name: 'ship',
          handler: async ({ payload: receipt, workflow }) => ({ receipt, tracking: await ship(workflow.input.items) }),
        },
      ],
    }),
  );
  return hub;
}

/** Fulfils an order, and cancels the run if it takes longer than `patienceMs`. */
export async function fulfilWithin(hub: Hub, order: Order, patienceMs: number): Promise<string> {
  const run = await hub.startWorkflow('fulfil', order, { dedupeId: order.id });
  const timer = setTimeout(() => void run.cancel(), patienceMs);
  await run.result().catch(() => {}); // `order.stuck` reports the failure.
  clearTimeout(timer);
  const { status, steps } = await run.status();
  return `${status}: ${steps.map((step) => `${step.name} ${step.status}`).join(', ')}`;
}
