import { createWorkflow, type EventRef, type Hub } from 'hubline';
import { z } from 'zod';
import { oneIn, simulateWork } from './simulate.js';

const collectWithinMs = 8_000;

const paidOrder = z.looseObject({
  orderId: z.string(),
  items: z.array(z.looseObject({})),
});

/** Registers the workflow of a paid order, from the shelf to the carrier, and the events between shop and carrier. */
export function registerFulfilment(hub: Hub): void {
  const collected = hub.event<{ orderId: string }>({
    type: 'parcel.collected',
    description: 'The carrier collected a parcel. Ends the wait of its run.',
    key: ({ orderId }) => orderId,
    handler: () => {},
  });
  const requested = registerCarrier(hub, collected);
  hub.workflow(
    createWorkflow({
      name: 'fulfil-order',
      description: 'Picks, packs and labels a paid order, and waits until the carrier collects it.',
      input: paidOrder,
      trigger: 'payment.captured',
      onSuccess: 'shipment.booked',
      run: async ({ input, step }) => {
        const { orderId } = input;
        await step.run('pick', ({ signal }) => pickGoods(signal), { retry: { maxAttempts: 3, initialDelayMs: 300 } });
        const grams = await step.run('pack', async ({ signal }) => {
          await simulateWork(signal, 100, 400);
          return 400 * input.items.length;
        });
        await step.run('label', ({ signal }) => printLabel(signal), {
          retry: { maxAttempts: 4, initialDelayMs: 200 },
          timeoutMs: 2_000,
        });
        const wait = { key: orderId, timeoutMs: collectWithinMs };
        // The wait begins before the carrier is asked to come.
        const collection = step.waitForEvent('collected', collected, wait);
        await step.emit('request-collection', requested, { orderId, grams });
        if ((await collection) === null) {
          await step.run('bring-to-counter', ({ signal }) => simulateWork(signal, 200, 600));
        }
        return input;
      },
    }),
  );
}

function registerCarrier(
  hub: Hub,
  collected: EventRef<{ orderId: string }>,
): EventRef<{ orderId: string; grams: number }> {
  return hub.event<{ orderId: string; grams: number }>({
    type: 'collection.requested',
    description: 'Asks the carrier to collect a parcel. The carrier sometimes forgets one.',
    async handler({ payload: { orderId }, signal, emit }) {
      await simulateWork(signal, 10, 80);
      if (!oneIn(25)) await emit(collected, { orderId }, { delayMs: 500 + Math.floor(Math.random() * 2_500) });
    },
  });
}

async function pickGoods(signal: AbortSignal): Promise<void> {
  await simulateWork(signal, 80, 500);
  if (oneIn(20)) throw new Error('shelf is blocked by a fork-lift');
}

async function printLabel(signal: AbortSignal): Promise<void> {
  await simulateWork(signal, 40, 250);
  if (oneIn(7)) throw new Error('label printer: paper jam');
}
