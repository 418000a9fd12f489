import { createTool } from 'hubline/agents';
import { simulateWork } from './simulate.js';

const orderParameters = {
  type: 'object',
  properties: { orderId: { type: 'string', pattern: '^A-\\d+$' } },
  required: ['orderId'],
  additionalProperties: false,
};

interface OrderInput {
  readonly orderId: string;
}

export const lookUpOrder = createTool({
  name: 'look_up_order',
  description: 'What was ordered, for how much, and whether it was sent',
  parameters: orderParameters,
  timeoutMs: 5_000,
  async execute({ orderId }: OrderInput, { signal }) {
    await simulateWork(signal, 20, 200);
    const number = Number(orderId.slice('A-'.length));
    return { orderId, item: 'teapot', amountCents: 1_500 + (number % 40) * 100, status: 'sent' };
  },
});

export const refund = createTool({
  name: 'refund',
  description: 'Pays an order back',
  parameters: orderParameters,
  async execute({ orderId }: OrderInput, { emit, idempotencyKey }) {
    // A ticket that is handled again must not pay twice.
    await emit('refund.requested', { orderId }, { dedupeId: `${idempotencyKey}:${orderId}` });
    return `The refund of ${orderId} is on its way.`;
  },
});

export const trackParcel = createTool({
  name: 'track_parcel',
  description: 'Where the parcel of an order was seen last',
  parameters: orderParameters,
  timeoutMs: 5_000,
  async execute({ orderId }: OrderInput, { signal }) {
    await simulateWork(signal, 50, 400);
    return { orderId, place: 'depot Bergen', expected: 'tomorrow' };
  },
});
