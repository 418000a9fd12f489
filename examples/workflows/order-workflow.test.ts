import { FatalError, type Hub } from 'hubline';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createOrderHub, fulfilWithin, type Services } from './order-workflow.js';

const order = { id: 'A-1', items: ['teapot'] };

async function startHub(services: Partial<Services>): Promise<{ hub: Hub; told: string[] }> {
  const told: string[] = [];
  const hub = createOrderHub({
    charge: async () => 'receipt 7',
    ship: async (items) => `parcel of ${items}`,
    tell: (message) => told.push(message),
    ...services,
  });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  await hub.start();
  return { hub, told };
}

test('an event starts the run, and its end emits an event', async () => {
  const { hub, told } = await startHub({});
  await hub.emit('order.placed', order);
  await vi.waitFor(() => expect(told).toEqual(['on its way: parcel of teapot']));
});

test('a declined charge is reported with the order', async () => {
  const { hub, told } = await startHub({ charge: () => Promise.reject(new FatalError('card declined')) });
  await expect(fulfilWithin(hub, order, 60_000)).resolves.toBe('failed: charge failed, ship waiting');
  await vi.waitFor(() => expect(told).toEqual(['A-1: card declined']));
});

test('an order that takes too long is cancelled, and its charge is aborted', async () => {
  const reasons: string[] = [];
  const { hub, told } = await startHub({
    charge: (_order, _key, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason.code);
          reject(signal.reason);
        });
      }),
  });
  await expect(fulfilWithin(hub, order, 0)).resolves.toBe('failed: charge failed, ship waiting');
  expect(reasons).toEqual(['ERR_WORKFLOW_CANCELLED']);
  await vi.waitFor(() => expect(told).toEqual([expect.stringMatching(/^A-1: run .* was cancelled$/)]));
});
