import { createEvent, createHub, type Hub, type HubOptions } from 'hubline';
import { z } from 'zod';

/** Digest that a customer chose in the settings. */
export interface DigestSettings {
  customerId: string;
  /** Hour of the day in the customer's time zone. */
  hour: number;
  timeZone: string;
}

export const digestDue = createEvent({
  type: 'digest.due',
  schema: z.object({ customerId: z.string() }),
  key: ({ customerId }) => customerId,
});

/** Stores the schedule of a customer: in any process, such as the one that serves the settings page. */
export function scheduleDigest(hub: Hub, { customerId, hour, timeZone }: DigestSettings): Promise<boolean> {
  return hub.schedules.set({
    name: 'digest',
    key: customerId,
    cron: `0 ${hour} * * *`,
    timeZone,
    emit: digestDue,
    payload: { customerId },
    overlap: 'skip',
  });
}

/** Creates the hub of the workers, which send the digests of all customers. */
export function createDigestHub(send: (customerId: string) => Promise<void>, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'digests', ...options });
  hub.event(digestDue, {
    retry: { maxAttempts: 5 },
    handler: ({ payload: { customerId } }) => send(customerId),
  });
  return hub;
}
