import { createHub, FatalError, type Hub, RetryAfterError, type Transport } from 'hubline';
import type { Tool } from 'hubline/agents';
import { z } from 'zod';
import { registerComplaints } from './complaints.js';
import { registerFulfilment } from './fulfilment.js';
import { type AgentModels, chooseModels } from './models/models.js';
import { registerPricing } from './pricing.js';
import { registerReports } from './reports.js';
import { oneIn, simulateWork } from './simulate.js';
import { registerSupport } from './support/support.js';

const order = z.object({
  orderId: z.string().min(1),
  customer: z.string().min(1),
  items: z.array(z.object({ sku: z.string(), quantity: z.int().positive() })).min(1),
  amountCents: z.int().positive(),
});

type Order = z.infer<typeof order>;

interface FailedPayment {
  readonly error: { readonly name: string; readonly message: string };
  readonly payload: Order;
}

const reviewAfterMs = 30_000;

/** Parts of a shop. */
export interface ShopParts {
  /** @default in memory */
  readonly transport?: Transport;
  /** Tools of the courier's MCP server. @default a tool in the process of the shop */
  readonly courierTools?: Tool[];
  /** @default those that the environment selects */
  readonly models?: AgentModels;
}

/**
 * Creates the hub of a small shop: events from an order to its delivery, and agents that answer customers.
 * External systems are simulated.
 */
export function createShop({ transport, courierTools, models = chooseModels(process.env) }: ShopParts = {}): Hub {
  const hub = createHub({ service: 'shop', logger: false, ...(transport && { transport }) });
  registerOrders(hub);
  registerPayments(hub);
  registerFulfilment(hub);
  registerDelivery(hub);
  registerMessages(hub);
  registerSupport(hub, models, courierTools);
  registerComplaints(hub, models);
  registerPricing(hub, models);
  registerReports(hub);
  return hub;
}

function registerOrders(hub: Hub): void {
  hub.event({
    type: 'order.created',
    description: 'A customer placed an order. Reserves the goods.',
    schema: order,
    onSuccess: 'payment.requested',
    async handler({ payload, signal, emit }) {
      await simulateWork(signal, 10, 60);
      if (oneIn(30)) await emit('stock.low', { sku: payload.items[0]?.sku ?? 'unknown' });
      return payload;
    },
  });
  hub.event({
    type: 'stock.low',
    description: 'Few items of an article are left. Declared only: no handler in the shop.',
  });
  hub.event<FailedPayment>({
    type: 'order.failed',
    description: 'The payment failed. Releases the goods and notifies the customer.',
    async handler({ payload, signal, emit }) {
      await simulateWork(signal, 10, 40);
      const { customer, orderId } = payload.payload;
      await emit('notification.sent', { customer, text: `Order ${orderId} could not be paid.` });
    },
  });
}

function registerPayments(hub: Hub): void {
  hub.event<Order>({
    type: 'payment.requested',
    description: 'Charges the card. The gateway declines some cards, and is sometimes unavailable.',
    retry: { maxAttempts: 4, initialDelayMs: 250, maxDelayMs: 4_000 },
    timeoutMs: 3_000,
    onSuccess: 'payment.captured',
    onFailure: 'order.failed',
    onComplete: 'audit.recorded',
    async handler({ payload, signal }) {
      await simulateWork(signal, 60, 500);
      if (oneIn(25)) throw new FatalError('card declined');
      if (oneIn(40)) throw new RetryAfterError(1_500, 'gateway: too many requests, retry after 1.5 s');
      if (oneIn(8)) throw new Error('gateway did not answer (502)');
      return payload;
    },
  });
  hub.event<Order>({
    type: 'payment.captured',
    description: 'The payment succeeded. Requests the invoice and starts the fulfilment.',
    async handler({ payload, signal, emit }) {
      await simulateWork(signal, 5, 30);
      await emit('invoice.requested', { orderId: payload.orderId, amountCents: payload.amountCents });
    },
  });
  hub.event<{ status: string }>({
    type: 'audit.recorded',
    description: 'Records the outcome of a payment.',
    handler: ({ signal }) => simulateWork(signal, 2, 10),
  });
}

function registerDelivery(hub: Hub): void {
  hub.event<Order>({
    type: 'shipment.booked',
    description: 'Books a parcel. The carrier takes four bookings at a time.',
    concurrency: 4,
    retry: { maxAttempts: 3, initialDelayMs: 500 },
    onFailure: 'refund.requested',
    async handler({ payload, signal, emit }) {
      await simulateWork(signal, 150, 700);
      if (oneIn(120)) throw new FatalError('the carrier does not know the address');
      if (oneIn(30)) throw new Error('carrier: connection reset');
      const { customer, orderId } = payload;
      await emit('notification.sent', { customer, text: `Order ${orderId} is on its way.` });
      await emit('review.reminder', { customer, orderId }, { delayMs: reviewAfterMs });
    },
  });
  hub.event({
    type: 'refund.requested',
    description: 'The parcel could not be booked, or support refunds the order. One refund at a time.',
    concurrency: 1,
    retry: { maxAttempts: 5 },
    handler: ({ signal }) => simulateWork(signal, 200, 800),
  });
  hub.event<{ orderId: string; amountCents: number }>({
    type: 'invoice.requested',
    description: 'Renders the invoice. Slow, and sometimes hangs until it times out.',
    timeoutMs: 2_000,
    retry: { maxAttempts: 2, initialDelayMs: 1_000 },
    handler: ({ signal }) => (oneIn(50) ? simulateWork(signal, 60_000, 60_000) : simulateWork(signal, 300, 1_800)),
  });
}

function registerMessages(hub: Hub): void {
  hub.event<{ customer: string; text: string }>({
    type: 'notification.sent',
    description: 'Sends a message to a customer, one after the other. The mail service takes ten per second.',
    key: ({ customer }) => customer,
    concurrencyPerKey: 1,
    rate: { max: 10, perMs: 1_000 },
    retry: { maxAttempts: 3 },
    async handler({ signal }) {
      await simulateWork(signal, 20, 150);
      if (oneIn(60)) throw new Error('mail service: mailbox busy');
    },
  });
  hub.event<{ customer: string; orderId: string }>({
    type: 'review.reminder',
    description: `Asks for a review, ${reviewAfterMs / 1_000} seconds after the parcel is booked.`,
    handler: ({ signal }) => simulateWork(signal, 10, 60),
  });
}
