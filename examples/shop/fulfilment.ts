import { createWorkflow, type Hub, type StepCtx } from 'hubline';
import { oneIn, simulateWork } from './simulate.js';

interface Parcel {
  readonly orderId: string;
  readonly grams: number;
}

/** Registers the workflow of a paid order, from the shelf to the carrier. */
export function registerFulfilment(hub: Hub): void {
  hub.workflow(
    createWorkflow({
      name: 'fulfil-order',
      description: 'Picks, packs, labels and hands over a paid order.',
      trigger: 'payment.captured',
      onSuccess: 'shipment.booked',
      steps: [
        {
          name: 'pick',
          retry: { maxAttempts: 3, initialDelayMs: 300 },
          async handler({ payload, signal }: StepCtx<{ orderId: string; items: readonly object[] }>) {
            await simulateWork(signal, 80, 500);
            if (oneIn(20)) throw new Error('shelf is blocked by a fork-lift');
            return payload;
          },
        },
        {
          name: 'pack',
          async handler({ payload, signal }): Promise<Parcel> {
            await simulateWork(signal, 100, 400);
            return { orderId: payload.orderId, grams: 400 * payload.items.length };
          },
        },
        {
          name: 'label',
          retry: { maxAttempts: 4, initialDelayMs: 200 },
          timeoutMs: 2_000,
          async handler({ payload, signal, idempotencyKey }) {
            await simulateWork(signal, 40, 250);
            if (oneIn(7)) throw new Error('label printer: paper jam');
            return { ...payload, label: idempotencyKey };
          },
        },
        {
          name: 'hand-over',
          async handler({ workflow, signal }) {
            await simulateWork(signal, 20, 150);
            return workflow.input;
          },
        },
      ],
    }),
  );
}
