import {
  type ApprovalDecided,
  type ApprovalRequest,
  createAgent,
  createTool,
  createWorkflow,
  FatalError,
  type Hub,
  type RunCtx,
} from 'hubline';
import type { FakeClock } from 'hubline/testing';
import { type ScriptEntry, scriptedProvider } from 'hubline/testing';

const minute = 60_000;
const day = 1_440 * minute;
/** Turns of the agent for a ticket that says so. */
const manyTurns = 30;
const shards = 400;

/** Payload of events and runs of an order. */
export interface Order {
  readonly n: number;
}

/** Types of which the shop emits some, and others never. */
export const minorTypes = ['audit', 'cart', 'search', 'stock', 'customer', 'review', 'coupon', 'basket'].flatMap(
  (subject) => ['recorded', 'updated', 'indexed', 'moved', 'cleared', 'counted'].map((verb) => `${subject}.${verb}`),
);

/** Waits on a clock. */
function pass(clock: FakeClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}

/** Registers what the shop does. The release 1.5.0 has a bank that declines cards and a printer without paper. */
export function registerShop(hub: Hub, clock: FakeClock, release: '1.4.0' | '1.5.0'): void {
  const isNew = release === '1.5.0';
  hub.event<Order>({
    type: 'order.created',
    description: 'A customer has ordered.',
    onSuccess: 'payment.requested',
    handler: ({ payload }) => pass(clock, 2 + (payload.n % 5)).then(() => payload),
  });
  hub.event<Order>({
    type: 'payment.requested',
    description: 'Charges the card.',
    retry: { maxAttempts: 2, initialDelayMs: 50 },
    onSuccess: 'payment.captured',
    onFailure: 'payment.declined',
    async handler({ payload: { n } }) {
      await pass(clock, 40 + ((n * 37) % 160));
      if (n % (isNew ? 9 : 211) === 0) throw new FatalError(`card of order ${n} declined by the bank`);
      if (isNew && n % 31 === 0) throw new TypeError(`no amount in order "${n}"`);
      return { n };
    },
  });
  hub.event({ type: 'payment.captured', onSuccess: 'invoice.sent', handler: ({ payload }) => payload });
  hub.event({ type: 'payment.declined', handler: () => {} });
  // Takes one event at a time. A report that somebody asks for does not end.
  hub.event({
    type: 'report.requested',
    concurrency: 1,
    handler: ({ payload, signal }) => ('n' in Object(payload) ? untilAborted(signal) : pass(clock, 2_400)),
  });
  hub.event({ type: 'refund.requested', handler: () => pass(clock, 30) });
  hub.event({ type: 'newsletter.sent', handler: () => {} });
  hub.event<Order>({ type: 'parcel.scanned', key: ({ n }) => `parcel ${n}` });
  // Other services handle them.
  for (const type of ['invoice.sent', 'ticket.opened']) hub.event({ type });
  for (const type of minorTypes) hub.event({ type, handler: () => pass(clock, 1) });
  registerWorkflows(hub, clock, isNew);
  hub.schedule({ name: 'nightly.export', cron: '0 3 * * *', emit: 'report.requested', payload: {} });
  hub.schedule({ name: 'stock.count', everyMs: 15 * minute, emit: 'stock.counted', payload: {} });
  hub.schedule({ name: 'heartbeat', everyMs: 10_000, emit: 'audit.recorded', payload: {} });
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

function registerWorkflows(hub: Hub, clock: FakeClock, isNew: boolean): void {
  const label = createWorkflow({
    name: 'parcel.label',
    run: async ({ step }: RunCtx<Order>) => {
      await step.run('ask the carrier', () => pass(clock, 120));
      await step.waitForEvent('printed', 'parcel.scanned', { key: 'label', timeoutMs: day });
      return 'label';
    },
  });
  hub.workflow(label);
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      description: 'From the payment to the parcel at the door.',
      trigger: 'payment.captured',
      run: async ({ input: { n }, step }: RunCtx<Order>) => {
        await step.run('reserve the goods', () => pass(clock, 5 + (n % 7)));
        await Promise.all([
          step.run('pack', () => pass(clock, 900 + ((n * 53) % 1_900))),
          step.map('weigh', [1, 2, 3], (kilos) => pass(clock, 20).then(() => kilos)),
          step.run('print the invoice', async () => {
            await pass(clock, 310);
            if (isNew && n % 8 === 3) throw new FatalError(`printer ${n} is out of paper`);
          }),
        ]);
        if (n % 5 === 0)
          await step.waitForEvent('scanned', 'parcel.scanned', { key: `parcel ${n}`, timeoutMs: 2 * day });
        if (n % 12 === 0) await step.sleep('cool down', 60 * minute);
        await step.run('hand over', () => pass(clock, 180));
        return 'delivered';
      },
    }),
  );
  hub.workflow(
    createWorkflow({
      name: 'search.reindex',
      run: async ({ step }) => {
        const list = await step.run('list the shards', () => Array.from({ length: shards }, (_, n) => n));
        await step.map('reindex shard', list, (n) => pass(clock, 300 + 40 * (n % 40)), { concurrency: 40 });
        await step.sleep('settle', 1_500);
        await step.run('swap the alias', () => pass(clock, 40));
      },
    }),
  );
  hub.workflow(
    createWorkflow({
      name: 'checkout',
      run: async ({ step }) => {
        await step.run('validate', () => pass(clock, 430));
        await step.invoke('fulfil the order', 'fulfil', { n: 4 });
        await step.invoke('book the label', label, { n: 4 });
      },
    }),
  );
}

/** Registers what the support service does, an agent that answers tickets: most after some calls of tools, those about refunds after an approval. */
export function registerSupport(hub: Hub, clock: FakeClock): void {
  /** Tokens of a turn: each has the messages of those before it. */
  const usageOf = (turn: number) => {
    const [promptTokens, completionTokens] = [1_640 + 260 * turn, 120 + ((turn * 97) % 240)];
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, cachedTokens: 1_024 };
  };
  const answer: ScriptEntry = ({ messages }) => {
    const text = JSON.stringify(messages.filter(({ role }) => role === 'user'));
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    const turns = text.includes('everything') ? manyTurns : 2 + (text.length % 3);
    const delayMs = 700 + ((turn * 610) % 1_700);
    const usage = usageOf(turn);
    if (turn === turns) return { content: 'It arrives on Monday.', usage, delayMs };
    const name =
      turn === turns - 1 && text.includes('money') ? 'refund' : turn % 3 === 0 ? 'search_the_docs' : 'find_order';
    return { toolCalls: [{ name, arguments: { order: turn } }], usage, delayMs };
  };
  const parameters = { type: 'object' };
  const tool = (name: string, needsApproval = false) =>
    createTool({
      name,
      description: name,
      parameters,
      needsApproval,
      execute: ({ order }: { order: number }) => pass(clock, 60 + ((order * 410) % 1_300)),
    });
  const agent = createAgent({
    name: 'support',
    description: 'Answers tickets of customers.',
    systemPrompt: 'Help.',
    model: { model: 'small-1' },
    maxIterations: 2 * manyTurns,
    clock,
    prices: { 'small-1': { input: 1, output: 4 } },
    provider: scriptedProvider(Array(10_000).fill(answer), { clock }),
    tools: [tool('find_order'), tool('search_the_docs'), tool('refund', true)],
  });
  const requested = hub.event<ApprovalRequest>({ type: 'approval.requested', handler: () => {} });
  const decided = hub.event<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });
  hub.event({
    type: 'ticket.opened',
    handler: agent.asHandler({ approvals: { requested, decided, timeoutMs: day } }),
  });
}

/** Registers what the mail service does. From a time on, a mailbox is full. */
export function registerMail(hub: Hub, clock: FakeClock, fullFrom: number): void {
  hub.event<Order>({
    type: 'invoice.sent',
    onComplete: 'mail.archived',
    async handler({ payload: { n } }) {
      await pass(clock, 60 + ((n * 29) % 90));
      if (clock.now() > fullFrom && n % 17 === 5) throw new FatalError('mailbox is full');
    },
  });
  hub.event({ type: 'mail.archived', handler: () => {} });
  hub.event({ type: 'mail.bounced', handler: () => {} });
}
