import {
  type Agent,
  type AgentConfig,
  type ApprovalDecided,
  type ApprovalRequest,
  createAgent,
  createAgentRegistry,
  createHub,
  createPipeline,
  createTool,
  createWorkflow,
  FatalError,
  type Hub,
  type ModelProvider,
  RetryAfterError,
} from 'hubline';
import { type ScriptEntry, scriptedProvider } from 'hubline/testing';

const declinedEvery = 12;

/** Starts a hub with at least one example of everything that the dashboard shows. */
export async function startGalleryHub(): Promise<Hub> {
  const hub = createHub({ service: 'shop', logger: false });
  registerEvents(hub);
  registerWorkflows(hub);
  registerDelivery(hub);
  registerAgents(hub);
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
  hub.schedule({
    name: 'weekly report',
    description: 'Sends the report of the week to the owners of the shop.',
    cron: '0 8 * * 1',
    timeZone: 'Europe/Berlin',
    emit: 'audit.recorded',
    payload: {},
  });
  hub.schedule({
    name: 'leap day',
    cron: '0 9 29 2 *',
    timeZone: 'Asia/Tokyo',
    start: 'deliver',
    payload: {},
  });
  hub.schedule({ name: 'count the stock', everyMs: 3_600_000, emit: 'stock.low', payload: {} });
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

/** Registers a workflow that waits for a parcel. */
function registerDelivery(hub: Hub): void {
  hub.event({ type: 'parcel.scanned' });
  hub.workflow(
    createWorkflow({
      name: 'deliver',
      run: async ({ step }) => {
        await step.run('hand over', () => null);
        await step.waitForEvent('scanned', 'parcel.scanned', { key: 'parcel 7', timeoutMs: 172_800_000 });
      },
    }),
  );
}

function numberOf(payload: unknown): number {
  return Number(Object(payload).n);
}

/** Model provider that responds at once with a constant text. */
const model: ModelProvider = {
  chat: async () => ({
    content: 'The parcel is on its way.',
    toolCalls: [],
    usage: { promptTokens: 1_640, completionTokens: 212, totalTokens: 1_852 },
    finishReason: 'stop',
  }),
};

/** Registers an agent that looks an order up, and asks before it refunds. */
function registerClerk(hub: Hub): void {
  const usage = { promptTokens: 1_640, completionTokens: 212, totalTokens: 1_852, cachedTokens: 1_024 };
  const call = (name: string): ScriptEntry => ({ toolCalls: [{ name, arguments: {} }], usage });
  const parameters = { type: 'object' };
  const execute = async (): Promise<string> => 'done';
  const broken = async (): Promise<never> => {
    throw new Error('no address');
  };
  const clerk = createAgent({
    name: 'clerk',
    description: 'Refunds orders that arrived broken.',
    systemPrompt: 'Help.',
    model: { model: 'small-1' },
    prices: { 'small-1': { input: 1, output: 4 } },
    provider: scriptedProvider([1, 2, 3, 4].flatMap(() => [call('find_order'), call('send_mail'), call('refund')])),
    tools: [
      createTool({ name: 'find_order', description: 'Finds an order.', parameters, execute }),
      createTool({ name: 'send_mail', description: 'Sends a mail.', parameters, execute: broken }),
      createTool({ name: 'refund', description: 'Refunds an order.', parameters, execute, needsApproval: true }),
    ],
  });
  const requested = hub.event<ApprovalRequest>({ type: 'approval.requested', handler: () => {} });
  const decided = hub.event<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });
  const approvals = { requested, decided, timeoutMs: 86_400_000 };
  hub.event({ type: 'refund.asked', handler: clerk.asHandler({ approvals }) });
}

function registerAgents(hub: Hub): void {
  registerClerk(hub);
  const registry = createAgentRegistry();
  const agent = (config: Pick<AgentConfig, 'name' | 'description' | 'tools'>, modelName: string): Agent => {
    const created = createAgent({
      ...config,
      systemPrompt: 'Help.',
      provider: model,
      model: { model: modelName },
      registry,
    });
    registry.register(created);
    return created;
  };
  const findOrder = createTool({
    name: 'find_order',
    description: 'Finds an order by its number.',
    parameters: { type: 'object' },
    execute: async () => null,
  });
  const triage = agent(
    {
      name: 'triage',
      description: 'Sorts tickets by what they are about, and how urgent they are.',
      tools: [findOrder],
    },
    'small-1',
  );
  const drafter = agent({ name: 'drafter', description: 'Writes an answer in the tone of the house.' }, 'large-2');
  const reviewer = agent({ name: 'reviewer' }, 'large-2');
  hub.event({ type: 'ticket.created', handler: triage.asHandler() });
  hub.workflow(
    createPipeline({
      name: 'offer',
      key: () => 'offers',
      concurrencyPerKey: 1,
      steps: [{ agent: triage }, { parallel: [{ agent: drafter }, { agent: reviewer }] }, { agent: triage }],
    }),
  );
  hub.workflow(createPipeline({ name: 'ticket.answer', steps: [{ agent: triage }, { agent: drafter }] }));
}
