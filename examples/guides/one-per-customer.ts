import { createEvent, createHub, type Hub, type HubOptions } from 'hubline';

/** Change of an order, shared by the processes that emit it and those that apply it. */
export const orderChanged = createEvent<{ customerId: string; change: string }>({
  type: 'order.changed',
  key: ({ customerId }) => customerId,
});

/** Request for a report of a customer, of which one at a time is pending. */
export const reportRequested = createEvent<{ customerId: string }>({
  type: 'report.requested',
  key: ({ customerId }) => customerId,
  overlap: 'skip',
});

/** Change of what a customer searches for: only the newest one matters. */
export const searchChanged = createEvent<{ customerId: string; text: string }>({
  type: 'search.changed',
  key: ({ customerId }) => customerId,
  overlap: 'replace',
});

/** Creates a hub that applies the changes of each customer one at a time, in the order of their acceptance, and reports. */
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
  hub.event(reportRequested, { handler: ({ payload }) => apply(payload.customerId, 'report') });
  hub.event(searchChanged, { handler: ({ payload }) => apply(payload.customerId, `search for ${payload.text}`) });
  return hub;
}
