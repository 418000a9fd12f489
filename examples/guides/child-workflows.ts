import { createHub, createWorkflow, type Hub, type HubOptions, StepFailedError } from 'hubline';
import { z } from 'zod';

/** Systems outside the shop. */
export interface Services {
  write(orderId: string): Promise<{ number: string }>;
  archive(number: string): Promise<void>;
  tell(text: string): void;
}

/** Creates a hub on which the workflow of an order starts that of its invoice, and continues without one if it fails. */
export function createInvoiceHub({ write, archive, tell }: Services, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'orders', ...options });
  const invoice = createWorkflow({
    name: 'invoice',
    input: z.object({ orderId: z.string() }),
    run: async ({ input, step }) => {
      const { number } = await step.run('write', () => write(input.orderId));
      await step.run('archive', () => archive(number), { retry: { maxAttempts: 5 } });
      return { number };
    },
  });
  const close = createWorkflow({
    name: 'close-order',
    input: z.object({ id: z.string() }),
    run: async ({ input, step }) => {
      try {
        const { number } = await step.invoke('invoice', invoice, { orderId: input.id });
        await step.run('tell', () => tell(`${input.id}: invoice ${number}`));
      } catch (error) {
        if (!(error instanceof StepFailedError)) throw error;
        await step.run('tell-failure', () => tell(`${input.id}: ${error.failure.message}`));
      }
    },
  });
  hub.workflow(invoice);
  hub.workflow(close);
  return hub;
}
