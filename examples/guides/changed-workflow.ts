import { createEvent, createHub, createWorkflow, type Hub, type HubOptions, type HubWorkflow } from 'hubline';
import { z } from 'zod';

const paid = z.object({ id: z.string() });
type Paid = z.infer<typeof paid>;

export const orderPaid = createEvent({ type: 'order.paid', schema: paid });
export const parcelPacked = createEvent({ type: 'parcel.packed', schema: paid, key: ({ id }) => id });

/** Systems outside the shop. */
export interface Services {
  printLabel(id: string): Promise<string>;
  bookCarrier(id: string): Promise<string>;
  tell(text: string): void;
}

/** Returns the workflow as it was deployed first. */
export function firstShipping({ printLabel, tell }: Services): HubWorkflow<Paid> {
  return createWorkflow({
    name: 'shipping',
    trigger: orderPaid,
    run: async ({ input: { id }, step }) => {
      const label = await step.run('label', () => printLabel(id));
      await step.waitForEvent('packed', parcelPacked, { key: id });
      await step.run('tell', () => tell(`${id} leaves with ${label}`));
    },
  });
}

/** Returns the workflow with a carrier instead of the printer. Runs that have a label keep it. */
export function shipping({ printLabel, bookCarrier, tell }: Services): HubWorkflow<Paid> {
  return createWorkflow({
    name: 'shipping',
    trigger: orderPaid,
    version: 2,
    run: async ({ input: { id }, step }) => {
      const label = step.patched('use-carrier')
        ? await step.run('book', () => bookCarrier(id))
        : await step.run('label', () => printLabel(id));
      await step.waitForEvent('packed', parcelPacked, { key: id });
      await step.run('tell', () => tell(`${id} leaves with ${label}`));
    },
  });
}

/** Creates the hub of one deploy. */
export function createShippingHub(workflow: HubWorkflow<Paid>, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'orders', ...options });
  hub.event(orderPaid);
  hub.event(parcelPacked);
  hub.workflow(workflow);
  return hub;
}
