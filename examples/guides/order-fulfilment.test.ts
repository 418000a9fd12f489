import { type Hub, type HubOptions, memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { describe, expect, test, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createFulfilmentHub, orderConfirmed, orderPlaced, type Services } from './order-fulfilment.js';

const order = { id: 'A-1', items: ['teapot', 'cup'] };

async function startShop(options: HubOptions, services: Partial<Services> = {}): Promise<{ hub: Hub; log: string[] }> {
  const log: string[] = [];
  const hub = createFulfilmentHub(
    {
      reserve: async (items) => ({ parcels: items.length }),
      ask: async (id) => void log.push(`asked for ${id}`),
      ship: async ({ id }, key) => ({ tracking: `${id} ${log.push(`shipped with ${key}`)}` }),
      tell: (text) => log.push(text),
      ...services,
    },
    options,
  );
  return { hub: await startHub(hub), log };
}

describe.each(everyTransport)('on %s', (_name, options) => {
  test('ships an order after its own confirmation, and not after that of another order', async () => {
    const { hub, log } = await startShop(options());
    await hub.emit(orderPlaced, order);
    await vi.waitFor(() => expect(log).toEqual(['asked for A-1']));
    await hub.emit(orderConfirmed, { id: 'B-2', by: 'Bob' });
    await hub.emit(orderConfirmed, { id: 'A-1', by: 'Ada' });
    await vi.waitFor(() => expect(log).toHaveLength(3));
    expect(log[1]).toMatch(/^shipped with orders:.+:ship$/);
    expect(log[2]).toBe('A-1 is shipped');
  });

  test('sees a confirmation that arrives while the customer is being asked', async () => {
    const { hub, log } = await startShop(options(), {
      ask: async (id) => void (await hub.emit(orderConfirmed, { id, by: 'Ada' })),
    });
    await hub.emit(orderPlaced, order);
    await vi.waitFor(() => expect(log.at(-1)).toBe('A-1 is shipped'));
  });
});

test('an order without a confirmation expires after two days', async () => {
  const clock = createFakeClock();
  const { hub, log } = await startShop({ transport: memoryTransport({ clock }) });
  await hub.emit(orderPlaced, order);
  await clock.advance(2 * 86_400_000 - 1);
  expect(log).toEqual(['asked for A-1']);
  await clock.advance(1);
  expect(log).toEqual(['asked for A-1', 'A-1 is expired']);
});
