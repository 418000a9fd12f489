import { createHub, createWorkflow, FatalError, type Hub, RetryAfterError } from 'hubline';
import type { IntrospectionBody } from '../server/dashboard/protocol.js';

const declinedEvery = 12;

/** A shop in which something of everything has happened. */
export async function startGalleryHub(): Promise<Hub> {
  const hub = createHub({ service: 'shop' });
  registerEvents(hub);
  registerWorkflows(hub);
  await hub.start();
  return hub;
}

function registerEvents(hub: Hub): void {
  hub.event<{ n: number }>({
    type: 'order.created',
    description: 'A customer has ordered. Reserves the goods.',
    schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer', minimum: 1 } } },
    onSuccess: 'payment.requested',
    handler: ({ payload }) => payload,
  });
  hub.event<{ n: number }>({
    type: 'payment.requested',
    description: 'Charges the card. The gateway declines some, and is not always there.',
    retry: { maxAttempts: 4, initialDelayMs: 250 },
    timeoutMs: 3_000,
    onSuccess: 'payment.captured',
    onFailure: 'order.failed',
    onComplete: 'audit.recorded',
    handler({ payload }) {
      if (payload.n % declinedEvery === 0) throw new FatalError('card declined: the issuer said "insufficient funds"');
      return payload;
    },
  });
  for (const type of ['payment.captured', 'order.failed', 'audit.recorded', 'invoice/requested', 'mail:order.sent']) {
    hub.event({ type, handler: () => {} });
  }
  hub.event({ type: 'stock.low', description: 'A signal: nothing in the shop handles it.' });
  hub.event({
    type: 'shipment.booked.with-the-carrier-that-was-chosen-by-the-customer-at-checkout',
    concurrency: 4,
    rate: { max: 10, perMs: 1_000 },
    handler: () => {},
  });
  hub.event({ type: 'refund.requested', handler: () => new Promise(() => {}) });
}

function registerWorkflows(hub: Hub): void {
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      description: 'From the payment to the parcel at the door.',
      trigger: 'payment.captured',
      onSuccess: 'invoice/requested',
      onFailure: 'refund.requested',
      onComplete: 'audit.recorded',
      steps: [
        { name: 'pick', handler: ({ payload }) => payload },
        {
          name: 'pack',
          retry: { maxAttempts: 3 },
          handler({ payload, attempt }) {
            if (numberOf(payload) % 5 === 0 && attempt === 1) throw new RetryAfterError(3_600_000, 'no boxes left');
            return payload;
          },
        },
        {
          name: 'ship',
          handler({ payload, signal }) {
            if (numberOf(payload) % 7 === 0) throw new FatalError('the carrier does not know the address');
            if (numberOf(payload) % 4 !== 0) return payload;
            return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
          },
        },
      ],
    }),
  );
  hub.workflow(
    createWorkflow({
      name: 'support.ticket',
      description: 'Answers a ticket: agents triage, draft and review.',
      onComplete: 'mail:order.sent',
      steps: ['receive', 'triage', 'look up the order', 'draft', 'review', 'translate', 'sign', 'send'].map((name) => ({
        name,
        handler: () => null,
      })),
    }),
  );
}

function numberOf(payload: unknown): number {
  return Number(Object(payload).n);
}

/** Agents as a hub with some would tell of them. */
export const galleryAgents: IntrospectionBody['agents'] = [
  {
    name: 'triage',
    description: 'Sorts tickets by what they are about, and how urgent they are.',
    model: 'small-1',
    tools: ['find_customer', 'find_order'],
    delegates: ['drafter', 'reviewer'],
    runs: { completed: 1_482, failed: 12, max_iterations: 3, token_budget_exceeded: 1 },
    tokenUsage: { promptTokens: 1_204_331, completionTokens: 88_120, totalTokens: 1_292_451 },
  },
  {
    name: 'drafter',
    description: 'Writes an answer in the tone of the house.',
    model: 'large-2-2026-01',
    tools: [],
    delegates: [],
    runs: { completed: 77 },
    tokenUsage: { promptTokens: 90_120, completionTokens: 31_002, totalTokens: 121_122 },
  },
  {
    name: 'reviewer',
    model: 'large-2-2026-01',
    tools: ['search_policies'],
    delegates: [],
    runs: {},
    tokenUsage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
  },
];
