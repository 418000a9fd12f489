import { createEvent, createHub, type Hub, type HubOptions } from 'hubline';

/** Change of an order, shared by the processes that emit it and those that apply it. */
export const orderChanged = createEvent<{ customerId: string; change: string }>({
  type: 'order.changed',
  key: ({ customerId }) => customerId,
});

/** Creates a hub that applies the changes of each customer one at a time, in the order of their acceptance. */
export function createOrderChangesHub(
  apply: (customerId: string, change: string) => Promise<void>,
  options: HubOptions = {},
): Hub {
  const hub = createHub({ service: 'orders', ...options });
  hub.event(orderChanged, {
    concurrency: 50,
    concurrencyPerKey: 1,
    rate: { max: 100, perMs: 1_000, perKey: true },
    retry: { maxAttempts: 3, initialDelayMs: 50 },
    handler: ({ payload }) => apply(payload.customerId, payload.change),
  });
  return hub;
}
