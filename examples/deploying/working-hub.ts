import { createHub, type HubOptions, type WorkResult } from 'hubline';
import { orderPlaced } from './definitions.js';

/** Packs the orders that wait, and ends: for a cron job, Lambda or a job of Cloud Run. */
export async function packWaitingOrders(options: HubOptions, pack: (id: string) => unknown): Promise<WorkResult> {
  const hub = createHub({ service: 'orders', ...options });
  hub.event(orderPlaced, { retry: { maxAttempts: 5 }, handler: ({ payload }) => pack(payload.id) });
  return hub.work({ forMs: 50_000 });
}
