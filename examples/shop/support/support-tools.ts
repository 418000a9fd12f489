import { createTool } from 'hubline/agents';
import { z } from 'zod';
import { simulateWork } from '../simulate.js';

const orderParameters = {
  type: 'object',
  properties: { orderId: { type: 'string', pattern: '^A-\\d+$' } },
  required: ['orderId'],
  additionalProperties: false,
};

interface OrderInput {
  readonly orderId: string;
}

/** Payload of `ticket.opened`. The shop's web site fills in the customer who is signed in. */
const ticket = z.object({ customer: z.string().optional() });

const buyers = ['Ada', 'Grace', 'Linus', 'Margaret'];

/** Returns the customer of an order. A real shop reads it from its database. */
export function customerOf(orderId: string): string {
  return buyers[Number(orderId.slice('A-'.length)) % buyers.length] ?? '';
}

/** Amount above which a clerk has to approve a refund, in cents. */
const approvalAboveCents = 3_000;

function amountOf(orderId: string): number {
  return 1_500 + (Number(orderId.slice('A-'.length)) % 40) * 100;
}

export const lookUpOrder = createTool({
  name: 'look_up_order',
  description: 'Returns the items, amount and status of an order',
  parameters: orderParameters,
  timeoutMs: 5_000,
  async execute({ orderId }: OrderInput, { signal }) {
    await simulateWork(signal, 20, 200);
    return { orderId, item: 'teapot', amountCents: amountOf(orderId), status: 'sent' };
  },
});

export const refund = createTool({
  name: 'refund',
  description: 'Refunds an order',
  parameters: orderParameters,
  async execute({ orderId }: OrderInput, { emit, idempotencyKey, payload }) {
    // The customer comes from the ticket, never from an argument: a text can make the model name any order.
    const { customer } = ticket.parse(payload);
    if (customer === undefined || customerOf(orderId) !== customer)
      throw new Error('this order is not of the customer');
    // A retried ticket must not refund twice.
    await emit('refund.requested', { orderId }, { dedupeId: `${idempotencyKey}:${orderId}` });
    return `The refund of ${orderId} is on its way.`;
  },
  needsApproval: ({ orderId }) => amountOf(orderId) > approvalAboveCents,
});

export const trackParcel = createTool({
  name: 'track_parcel',
  description: "Returns the last known location of an order's parcel",
  parameters: orderParameters,
  timeoutMs: 5_000,
  async execute({ orderId }: OrderInput, { signal }) {
    await simulateWork(signal, 50, 400);
    return { orderId, place: 'depot Bergen', expected: 'tomorrow' };
  },
});
