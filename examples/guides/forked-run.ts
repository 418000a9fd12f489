import { createHub, createWorkflow, type Hub, type HubOptions } from 'hubline';

/** Systems outside the shop. */
export interface Services {
  charge(orderId: string, idempotencyKey: string): Promise<string>;
  label(orderId: string): Promise<string>;
}

/** Creates a hub that charges an order and prints its label. */
export function createLabelHub({ charge, label }: Services, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'labels', ...options });
  const ship = createWorkflow({
    name: 'ship',
    run: async ({ input, step }) => {
      const order = String(input);
      const payment = await step.run('charge', ({ idempotencyKey }) => charge(order, idempotencyKey));
      return { payment, label: await step.run('label', () => label(order)) };
    },
  });
  hub.workflow(ship);
  return hub;
}

/** Prints the label of an order again, without another charge. */
export async function printAgain(hub: Hub, runId: string, by: string): Promise<unknown> {
  const { id } = await hub.fork(runId, { fromStep: 'label', by, reason: 'the label was unreadable' });
  return hub.workflowHandle('ship', id).result();
}
