import { createEvent, type ErrorGroup, type Hub } from 'hubline';
import { z } from 'zod';

export const paymentRequested = createEvent({
  type: 'payment.requested',
  schema: z.object({ orderId: z.string(), customerId: z.string(), region: z.string() }),
  key: ({ customerId }) => customerId,
  tags: ({ orderId, region }) => [`order:${orderId}`, `region:${region}`],
});

/** Returns the ids of the payments of a region that an incident touched and that have not ended well since. */
export async function brokenPayments(hub: Hub, region: string, incident: ErrorGroup): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const page = await hub.search({
      tag: `region:${region}`,
      group: incident.id,
      ...(after !== undefined && { after }),
    });
    ids.push(...page.events.filter(({ status }) => status !== 'completed').map(({ id }) => id));
    after = page.after;
  } while (after !== undefined);
  return ids;
}
