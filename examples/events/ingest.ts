import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createEvent, createIngestHandler, type Hub, type IngestAccess, verifyStripe } from 'hubline';
import { z } from 'zod';

export const orderPlaced = createEvent({
  type: 'order.placed',
  schema: z.object({ id: z.string(), customerId: z.string() }),
  key: ({ customerId }) => customerId,
  dedupeWindowMs: 86_400_000,
});

export const stripeEvent = createEvent({
  type: 'stripe.event',
  schema: z.looseObject({ id: z.string(), type: z.string() }),
  // Stripe repeats a delivery for three days.
  dedupeWindowMs: 3 * 86_400_000,
});

/** Serves events of partners below `/events`, and the webhooks of Stripe below `/hooks`. */
export function serveEvents(hub: Hub, partners: ReadonlyMap<string, string>, stripeSecret: string): Server {
  const partnerOf = ({ headers }: IncomingMessage): IngestAccess => {
    const client = partners.get(headers.authorization ?? '');
    return client === undefined ? null : { client };
  };
  const events = createIngestHandler(hub, { basePath: '/events', types: [orderPlaced], authorize: partnerOf });
  const hooks = createIngestHandler(hub, {
    basePath: '/hooks',
    types: [stripeEvent],
    verify: verifyStripe({ secret: stripeSecret }),
    authorize: () => true,
  });
  return createServer((req, res) => {
    if (req.url?.startsWith('/hooks/') === true) hooks(req, res);
    else events(req, res);
  });
}
