import { setTimeout as delay } from 'node:timers/promises';
import { createHub, createWorkflow, type Hub, type HubOptions, type WorkflowHandle } from 'hubline';
import { z } from 'zod';

const dayMs = 86_400_000;

const print = (_customer: string, signal: AbortSignal): Promise<void> => delay(dayMs, undefined, { signal });

/**
 * Creates a hub that reminds of an invoice after a day, prints statements slowly, and collects the money of an order in a
 * child run.
 */
export function createBillingHub(tell: (text: string) => void, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'billing', ...options });
  hub.event<{ invoice: string }>({
    type: 'reminder.due',
    handler: ({ payload }) => tell(`${payload.invoice} is unpaid`),
  });
  hub.event<{ customer: string }>({
    type: 'statement.requested',
    key: ({ customer }) => customer,
    concurrencyPerKey: 1,
    handler: async ({ payload: { customer }, signal }) => {
      await print(customer, signal);
      tell(`the statement of ${customer} is printed`);
    },
  });
  const failed = hub.event<{ error: { message: string }; payload: { order: string } }>({
    type: 'collection.failed',
    handler: ({ payload: { error, payload } }) => tell(`${payload.order}: ${error.message}`),
  });
  const transfer = createWorkflow({
    name: 'transfer',
    input: z.object({ order: z.string() }),
    run: ({ step }) => step.sleep('until-booked', 3 * dayMs),
  });
  const collect = createWorkflow({
    name: 'collect',
    input: z.object({ order: z.string() }),
    onFailure: failed,
    run: async ({ input, step }) => {
      await step.invoke('transfer', transfer, input);
      await step.run('tell', () => tell(`${input.order} is paid`));
    },
  });
  hub.workflow(transfer);
  hub.workflow(collect);
  return hub;
}

/** Plans a reminder, and returns a function that cancels it unless it was sent. */
export async function planReminder(hub: Hub, invoice: string): Promise<() => Promise<boolean>> {
  const { id } = await hub.emit('reminder.due', { invoice }, { delayMs: dayMs });
  return () => hub.cancel(id);
}

/** Cancels the collection of an order, with its transfer. */
export async function cancelOrder(run: WorkflowHandle): Promise<string> {
  const isCancelled = await run.cancel('the customer cancelled the order');
  return isCancelled ? 'cancelled' : (await run.status()).status;
}
